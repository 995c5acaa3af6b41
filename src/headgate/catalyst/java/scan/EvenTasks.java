package headgate.scan;

import org.apache.spark.internal.config.ConfigReader;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Gives a narrowed scan enough tasks to keep every core busy to its end.
 *
 * Spark fills tasks up to `spark.sql.files.maxPartitionBytes`; what is left of a narrowed scan may then be three tasks for
 * two cores, and the third runs alone. How finely a scan is cut is a setting of the session that its relation holds, so
 * such a relation holds a second session: the same settings at any time, but more tasks for each core. No query runs in
 * it. Where a Spark does not let its settings be shared, scans are cut as Spark cuts them.
 */
public class EvenTasks {
  private static final int TASKS_PER_CORE = 4;
  private static final String FEWEST_TASKS = "spark.sql.files.minPartitionNum";
  private final SparkSession session;
  private SparkSession even;
  private int made;

  public EvenTasks(SparkSession session) { this.session = session; }

  /** The session for a scan of this gate's session that reads files of so many bytes in all. */
  public org.apache.spark.sql.SparkSession of(org.apache.spark.sql.SparkSession scanned, long bytes) {
    SQLConf settings = session.sessionState().conf();
    if (scanned != session || settings.filesMinPartitionNum().isDefined()) return scanned;
    int cores = session.leafNodeDefaultParallelism();
    long forEach = bytes / cores;
    // below, Spark makes a task for each core anyway; above, there are enough of full size
    if (forEach < settings.filesMaxPartitionBytes() || forEach >= TASKS_PER_CORE * settings.filesMaxPartitionBytes()) return scanned;
    try {
      return withTasks(settings, cores * TASKS_PER_CORE);
    } catch (RuntimeException otherSpark) {
      return scanned;
    }
  }

  private synchronized SparkSession withTasks(SQLConf settings, int tasks) {
    if (even == null || tasks != made) {
      SparkSession fresh = (SparkSession) session.newSession();
      OneSetting live = new OneSetting((java.util.Map) field(settings, "settings", null), FEWEST_TASKS, String.valueOf(tasks));
      field(fresh.sessionState().conf(), "settings", live);
      field(fresh.sessionState().conf(), "reader", new ConfigReader(live));
      even = fresh;
      made = tasks;
    }
    return even;
  }

  /** Reads a field of Spark's settings, or sets it: they cannot be shared in another way. */
  private static Object field(SQLConf settings, String name, Object value) {
    try {
      java.lang.reflect.Field found = SQLConf.class.getDeclaredField(name);
      found.setAccessible(true);
      if (value != null) found.set(settings, value);
      return found.get(settings);
    } catch (ReflectiveOperationException otherSpark) {
      throw new IllegalStateException("SQLConf has no field " + name, otherSpark);
    }
  }
}
