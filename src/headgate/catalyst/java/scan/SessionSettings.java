package headgate.scan;

import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import org.apache.spark.sql.classic.SparkSession;
import scala.collection.immutable.Map;

/** The settings of a session when a query is planned: some of them, such as those of readers, Spark asks for only when it runs. */
class SessionSettings {
  private static final String OWN = "spark.headgate.";
  /** How work is cut into tasks, whatever is read; and a note that Delta leaves for itself with each commit. */
  private static final List IGNORED = Arrays.asList(new Object[] {"spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes",
      "spark.sql.files.minPartitionNum", "spark.sql.files.maxPartitionNum", "spark.sql.shuffle.partitions", "spark.databricks.delta.lastCommitVersionInSession"});
  private final SparkSession session;
  private final Map then;

  SessionSettings(SparkSession session) {
    this.session = session;
    this.then = now();
  }

  private Map now() { return session.sessionState().conf().getAllConfs(); }

  /** The first setting that is another one by now, or null. */
  String changed() {
    Map now = now();
    if (now.equals(then)) return null;
    TreeSet keys = new TreeSet();
    keys.addAll(scala.jdk.javaapi.CollectionConverters.asJava(then.keySet()));
    keys.addAll(scala.jdk.javaapi.CollectionConverters.asJava(now.keySet()));
    java.util.Iterator each = keys.iterator();
    while (each.hasNext()) {
      String key = (String) each.next();
      if (!key.startsWith(OWN) && !IGNORED.contains(key) && !now.get(key).equals(then.get(key))) return key;
    }
    return null;
  }
}
