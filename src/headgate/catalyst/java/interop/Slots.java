package headgate.interop;

import org.apache.spark.SparkExecutorInfo;
import org.apache.spark.sql.classic.SparkSession;

/** How busy Spark is. */
public class Slots {
  /** The share of the task slots that are idle, by Spark's own count. */
  public static double idleShare(SparkSession session) {
    SparkExecutorInfo[] executors = session.sparkContext().statusTracker().getExecutorInfos();
    int running = 0;
    for (int i = 0; i < executors.length; i++) running += executors[i].numRunningTasks();
    return Math.max(0.0d, 1.0d - running / (double) Math.max(1, session.sparkContext().defaultParallelism()));
  }
}
