package headgate.plan;

import headgate.format.Published;
import headgate.interop.Subqueries;
import headgate.scan.KnownFiles;
import java.util.IdentityHashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Marks the file relations of one DataFrame, so that the queries it takes part in are filtered, whatever the session says.
 *
 * The mark is an option of the relation that no reader looks at. Plans are filtered anew in each query, so a marked
 * DataFrame never holds what was learned for an earlier one.
 */
public class Marks extends Subqueries {
  private static final String OPTION = "headgate.filtered";
  private final IdentityHashMap read;

  private Marks(IdentityHashMap read) { this.read = read; }

  /** The plan with its relations marked, but for those that Spark would take from cached data: they have to stay equal. */
  public static LogicalPlan marked(LogicalPlan analyzed, LogicalPlan withCachedData) {
    if (!mayJoin(analyzed)) return analyzed;
    IdentityHashMap read = new IdentityHashMap();
    collect(withCachedData, read);
    return new Marks(read).inTree(analyzed);
  }

  /** Whether there is a join in a plan, or a subquery, which may become one. */
  private static boolean mayJoin(LogicalPlan plan) {
    if (plan instanceof Join || Subqueries.areIn(plan)) return true;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (mayJoin((LogicalPlan) each.next())) return true;
    return false;
  }

  protected LogicalPlan replace(LogicalPlan plan, boolean prunesPartitions) { return inTree(plan); }

  public static boolean isMarked(LogicalPlan plan) {
    HadoopFsRelation files = KnownFiles.of(plan);
    if (files != null && files.options().contains(OPTION)) return true;
    if (files != null && Published.isIn(plan)) return true;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (isMarked((LogicalPlan) each.next())) return true;
    List inside = Subqueries.of(plan);
    for (int i = 0; i < inside.size(); i++) if (isMarked((LogicalPlan) inside.get(i))) return true;
    return false;
  }

  private static void collect(LogicalPlan plan, IdentityHashMap read) {
    HadoopFsRelation files = KnownFiles.of(plan);
    if (files != null) read.put(files.location(), Boolean.TRUE);
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) collect((LogicalPlan) each.next(), read);
    List inside = Subqueries.of(plan);
    for (int i = 0; i < inside.size(); i++) collect((LogicalPlan) inside.get(i), read);
  }

  protected LogicalPlan leaf(LogicalPlan plan) {
    HadoopFsRelation files = KnownFiles.of(plan);
    return files != null && read.containsKey(files.location()) ? option((LogicalRelation) plan, files) : plan;
  }

  private static LogicalPlan option(LogicalRelation plan, HadoopFsRelation files) {
    scala.collection.immutable.Map options = (scala.collection.immutable.Map) files.options().updated(OPTION, "true");
    HadoopFsRelation same = new HadoopFsRelation(files.location(), files.partitionSchema(), files.dataSchema(), files.bucketSpec(),
        files.fileFormat(), options, files.sparkSession());
    LogicalRelation result = new LogicalRelation(same, plan.output(), plan.catalogTable(), plan.isStreaming(), plan.stream());
    result.copyTagsFrom(plan);
    return result;
  }
}
