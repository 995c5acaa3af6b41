package headgate.tap;

import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/** Notifies a tap that its task has ended. A failed task does so too, but Spark does not count what it reports. */
public class TapEnd implements TaskCompletionListener {
  private final Tap tap;

  public TapEnd(Tap tap) { this.tap = tap; }

  public void onTaskCompletion(TaskContext task) { tap.end(); }
}
