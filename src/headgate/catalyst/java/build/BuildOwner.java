package headgate.build;

import java.util.Properties;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;

/** The query that build sides are run for. */
public interface BuildOwner {
  SparkSession session();

  /** The job group, the description and so on of whoever runs the query. */
  Properties localProperties();

  /** The build side that was read as number `node`, with edits (JSON) made. */
  LogicalPlan buildSide(int node, String editsJson) throws Exception;

  /** Keeps what a build side gave, and returns its number. */
  int keep(Build build);

  /** Notes that the user has ended a build: then the query has to end, too. */
  void cancel(Throwable reason);

  /** Whether the query's session keeps jars and files of its own, as those of a Connect server do. */
  boolean hasOwnResources();
}
