package headgate;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;

/** Makes a plan node of an RDD of rows; its constructor grows from one Spark to the next. */
public class RowsOf {
  public static LogicalPlan rdd(SparkSession session, scala.collection.immutable.Seq output, RDD rows, Statistics size) {
    Object none = scala.Option.empty();
    Object[] known = new Object[] {output, rows, new UnknownPartitioning(0), scala.collection.immutable.Nil$.MODULE$, Boolean.FALSE,
        none, session, scala.Option.apply(size), none, Boolean.FALSE};
    java.lang.reflect.Constructor constructor = LogicalRDD.class.getConstructors()[0];
    Object[] arguments = new Object[constructor.getParameterCount()];
    System.arraycopy(known, 0, arguments, 0, arguments.length);
    try {
      return (LogicalPlan) constructor.newInstance(arguments);
    } catch (ReflectiveOperationException otherSpark) {
      throw new IllegalStateException("LogicalRDD has another constructor in this Spark", otherSpark);
    }
  }
}
