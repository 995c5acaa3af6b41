package headgate.late;

import org.apache.spark.sql.execution.datasources.PartitionedFile;

/** Opens a split behind the gate; inside is Spark's own reader, or the one that reads only chosen row groups. */
public class GateReader extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final scala.Function1 reader;
  private final LateGate gate;

  public GateReader(scala.Function1 reader, LateGate gate) {
    this.reader = reader;
    this.gate = gate;
  }

  public Object apply(Object file) { return new GateIterator(reader, (PartitionedFile) file, gate); }
}
