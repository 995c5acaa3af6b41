package headgate.interop;

import java.util.concurrent.Callable;
import org.apache.spark.JobArtifactSet$;
import org.apache.spark.sql.classic.SparkSession;
import scala.runtime.AbstractFunction0;

/** What a session of a Connect server has brought along (jars, files): threads of our own must see it as the query's thread does. */
public class SessionResources {
  /** Whether this thread works for a session that keeps what it brought to itself. */
  public static boolean areOwn() { return JobArtifactSet$.MODULE$.getCurrentJobArtifactState().isDefined(); }

  /**
   * Whether this thread works for another session, which keeps what it brought to itself. A copy of a session has its rules,
   * but not its jars: executors would not find the classes of a plan that such a rule has changed.
   */
  public static boolean areOfAnother(SparkSession session) {
    scala.Option active = SparkSession.getActiveSession();
    if (active.isEmpty() || active.get() == session) return false;
    return ((SparkSession) active.get()).artifactManager().state() != null;
  }

  /** Does some work with the session's own resources; ``own`` is what `areOwn` said in the query's thread. */
  public static void with(SparkSession session, boolean own, final Callable work) throws Exception {
    if (!own) {
      work.call();
      return;
    }
    session.artifactManager().withResources(new AbstractFunction0() {
      public Object apply() {
        try {
          return work.call();
        } catch (Exception failure) {
          Rethrow.raise(failure);
          return null;
        }
      }
    });
  }
}
