package headgate.interop;

import org.apache.spark.SparkContext;

/** Waits until Spark has told its listeners all that has happened so far. */
public class ListenerBus {
  public static void await(SparkContext context, long millis) {
    try {
      context.listenerBus().waitUntilEmpty(millis);
    } catch (Exception late) {
      return;  // a busy bus: what it has not told yet is not in the report
    }
  }
}
