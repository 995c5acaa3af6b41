package headgate.interop;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.streaming.TimeMode;

/**
 * All that differs between Spark 4.0 and 4.3. It is found by reflection, by what is there and not by a version's number:
 * the compiler refuses a class that refers to a name which this Spark does not have.
 */
public class SparkVersion {
  private static final String STREAMING = "org.apache.spark.sql.execution.streaming.";
  private static final String LOGICAL = "org.apache.spark.sql.catalyst.plans.logical.";
  private static final String EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions.";

  /** Whether an object is of a streaming class; 4.1 moved them from `streaming` to `streaming.runtime`. */
  public static boolean isStreaming(Object object, String name) {
    Class found = classOf(STREAMING + "runtime." + name);
    if (found == null) found = classOf(STREAMING + name);
    return found != null && found.isInstance(object);
  }

  /** Whether a streaming query is in real-time mode. Of all versions that have it, only 4.3 says so in its executions. */
  public static boolean isRealTime(Object query) throws Exception {
    return read(query, "trigger").getClass().getName().endsWith(".RealTimeTrigger");
  }

  /** Whether a plan is transformWithState in Python; 4.0 had it for Pandas only, under another name. */
  public static boolean isPythonTransform(LogicalPlan plan) {
    String name = plan.getClass().getName();
    return name.equals(LOGICAL + "TransformWithStateInPySpark") || name.equals(LOGICAL + "TransformWithStateInPandas");
  }

  /** How a plan for which `isPythonTransform` holds keeps time. */
  public static TimeMode timeMode(LogicalPlan plan) throws Exception { return (TimeMode) read(plan, "timeMode"); }

  /** Whether an expression adds an interval (its right side) to a timestamp; in 4.0 it is called TimeAdd. */
  public static boolean isTimestampAdd(Expression e) {
    String name = e.getClass().getName();
    return name.equals(EXPRESSIONS + "TimestampAddInterval") || name.equals(EXPRESSIONS + "TimeAdd");
  }

  /** A relation over an RDD that is no stream and no checkpoint; 4.3 asks for the latter too. */
  public static LogicalRDD logicalRdd(scala.collection.immutable.Seq output, RDD rows, Partitioning partitioning,
      scala.collection.immutable.Seq ordering, SparkSession session, scala.Option statistics) throws Exception {
    Object none = scala.Option.empty();
    Object[] given = {output, rows, partitioning, ordering, Boolean.FALSE, none, session, statistics, none};
    List arguments = new ArrayList(Arrays.asList(given));
    Constructor made = LogicalRDD.class.getConstructors()[0];
    if (made.getParameterTypes().length > arguments.size()) arguments.add(Boolean.FALSE);
    return (LogicalRDD) made.newInstance(arguments.toArray());
  }

  /** What a public method without arguments returns, of an object whose class cannot be named in all versions. */
  public static Object read(Object owner, String method) throws Exception {
    return owner.getClass().getMethod(method, new Class[0]).invoke(owner, new Object[0]);
  }

  /** The same, or null where this Spark has no such method. */
  public static Object readIfThere(Object owner, String method) {
    try {
      return read(owner, method);
    } catch (Exception absent) {
      return null;
    }
  }

  /** What a public method of one text returns, or null where there is no such method. */
  public static Object readIfThere(Object owner, String method, String argument) {
    try {
      return owner.getClass().getMethod(method, new Class[] {String.class}).invoke(owner, new Object[] {argument});
    } catch (Exception absent) {
      return null;
    }
  }

  private static Class classOf(String name) {
    try {
      return Class.forName(name, false, LogicalPlan.class.getClassLoader());
    } catch (ClassNotFoundException absent) {
      return null;
    }
  }
}
