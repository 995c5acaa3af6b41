package headgate;

import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Gives a narrowed scan enough tasks to keep every core busy to its end.
 *
 * Spark fills tasks up to `spark.sql.files.maxPartitionBytes`; what is left of a narrowed scan may then be three tasks for
 * two cores, and the third runs alone. How finely a scan is cut is a setting of the session that its relation holds, so
 * such a relation holds a second session: the same settings, but more tasks for each core. No query runs in it.
 */
public class EvenTasks {
  private static final int TASKS_PER_CORE = 4;
  private static final String FEWEST_TASKS = "spark.sql.files.minPartitionNum";
  private final SparkSession session;
  private SparkSession even;

  public EvenTasks(SparkSession session) { this.session = session; }

  /** The session for a scan of this gate's session that reads files of so many bytes in all. */
  public org.apache.spark.sql.SparkSession of(org.apache.spark.sql.SparkSession scanned, long bytes) {
    SQLConf settings = session.sessionState().conf();
    if (scanned != session || settings.filesMinPartitionNum().isDefined()) return scanned;
    int cores = session.leafNodeDefaultParallelism();
    long forEach = bytes / cores;
    // below, Spark makes a task for each core anyway; above, there are enough of full size
    if (forEach < settings.filesMaxPartitionBytes() || forEach >= TASKS_PER_CORE * settings.filesMaxPartitionBytes()) return scanned;
    return withTasks(settings, cores * TASKS_PER_CORE);
  }

  private synchronized SparkSession withTasks(SQLConf settings, int tasks) {
    if (even == null) even = (SparkSession) session.newSession();
    SQLConf copy = even.sessionState().conf();
    scala.collection.Iterator each = copy.getAllConfs().keys().iterator();
    while (each.hasNext()) {
      String key = (String) each.next();
      if (!settings.contains(key) && !key.equals(FEWEST_TASKS)) copy.unsetConf(key);
    }
    each = settings.getAllConfs().iterator();
    while (each.hasNext()) {
      scala.Tuple2 pair = (scala.Tuple2) each.next();
      copy.setConfString((String) pair._1(), (String) pair._2());
    }
    copy.setConfString(FEWEST_TASKS, String.valueOf(tasks));
    return even;
  }
}
