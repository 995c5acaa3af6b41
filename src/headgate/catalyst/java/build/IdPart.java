package headgate.build;

import org.apache.spark.api.java.function.FlatMapFunction;

/** Runs IdTask over the rows of a partition, as one step of a larger job. */
public class IdPart implements FlatMapFunction {
  private static final long serialVersionUID = 1L;
  private final IdTask task;

  public IdPart(IdTask task) { this.task = task; }

  public java.util.Iterator call(Object rows) {
    Object packed = task.apply(scala.jdk.javaapi.CollectionConverters.asScala((java.util.Iterator) rows));
    return java.util.Collections.singletonList(packed).iterator();
  }
}
