package headgate.format;

import headgate.build.KeptRows;
import headgate.interop.Subqueries;
import headgate.scan.KnownFiles;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** Says whether a plan gives the same rows when it is read a second time, as long as its files stay the same. */
public class Stability {
  /**
   * Whether cached data can be read ahead of the query: all of it is there, and if blocks are lost they come out the same.
   *
   * Data that is not cached yet is left alone: reading it here would settle what it holds sooner than the query would.
   */
  public static boolean isLoaded(InMemoryRelation cached) {
    return cached.cacheBuilder().isCachedColumnBuffersLoaded() && isStable(cached.cacheBuilder().logicalPlan());
  }

  public static boolean isCheckpoint(LogicalRDD plan) { return plan.rdd().isCheckpointed() || plan.rdd() instanceof KeptRows; }

  /** Whether all that the subqueries of a node read is stable. */
  public static boolean areSubqueriesStable(LogicalPlan node) {
    List inside = Subqueries.of(node);
    for (int i = 0; i < inside.size(); i++) if (!readsStable((LogicalPlan) inside.get(i))) return false;
    return true;
  }

  /** Whether a plan is deterministic and reads nothing that may change unseen; its order of rows may still differ. */
  private static boolean readsStable(LogicalPlan plan) {
    if (plan.isStreaming() || !plan.deterministic() || !areSubqueriesStable(plan)) return false;
    if (plan.children().isEmpty()) return isStableLeaf(plan);
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (!readsStable((LogicalPlan) each.next())) return false;
    return true;
  }

  private static boolean isStable(LogicalPlan plan) { return readsStable(plan) && isOrderFree(plan); }

  /** Whether the rows do not depend on the order in which others come. */
  private static boolean isOrderFree(LogicalPlan plan) {
    if (plan instanceof Aggregate && !Repeatable.isRepeatable((Aggregate) plan)) return false;
    boolean known = plan.children().isEmpty() || plan instanceof Project || plan instanceof Filter || plan instanceof Join
        || plan instanceof Aggregate || plan instanceof Union || plan instanceof Distinct || plan instanceof Sort
        || plan instanceof SubqueryAlias || plan instanceof View || plan instanceof Expand || plan instanceof Generate
        || plan instanceof ResolvedHint || plan instanceof RepartitionOperation || plan instanceof RebalancePartitions;
    if (!known) return false;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (!isOrderFree((LogicalPlan) each.next())) return false;
    return true;
  }

  static boolean isStableLeaf(LogicalPlan leaf) {
    if (leaf instanceof LocalRelation || leaf instanceof OneRowRelation || leaf instanceof Range) return true;
    if (leaf instanceof InMemoryRelation) return isLoaded((InMemoryRelation) leaf);
    if (leaf instanceof LogicalRDD) return isCheckpoint((LogicalRDD) leaf);
    HadoopFsRelation files = KnownFiles.of(leaf);
    return files != null && KnownFiles.isKnown(files.location());
  }
}
