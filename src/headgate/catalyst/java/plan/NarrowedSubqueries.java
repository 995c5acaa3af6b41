package headgate.plan;

import headgate.format.Published;
import headgate.interop.Subqueries;
import headgate.scan.KnownFiles;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RowLevelWrite;
import org.apache.spark.sql.catalyst.trees.TreePattern$;

/**
 * Narrows the subqueries that have joins of their own, each as a query of its own, and puts them in their places.
 *
 * Build sides run with the subqueries as they were: what a narrowed one learned is for the query's execution alone.
 * Equal subqueries stay equal, so that Spark still runs them once.
 */
public class NarrowedSubqueries extends Subqueries {
  private final GateRule rule;
  private final List whole = new ArrayList();
  private final List narrowed = new ArrayList();

  public NarrowedSubqueries(GateRule rule) { this.rule = rule; }

  /** Narrows each subquery below a plan; none of them is put in place yet. */
  public void prepare(LogicalPlan plan) {
    // what an UPDATE, DELETE or MERGE remembers of its condition is not executed
    List inside = plan instanceof RowLevelWrite ? new ArrayList() : Subqueries.of(plan);
    for (int i = 0; i < inside.size(); i++) {
      LogicalPlan subquery = (LogicalPlan) inside.get(i);
      prepare(subquery);
      boolean mayFilter = subquery.containsPattern(TreePattern$.MODULE$.JOIN()) || Published.isIn(subquery);
      if (!mayFilter || find(subquery) != null) continue;
      whole.add(subquery);
      narrowed.add(rule.narrowed(subquery));
    }
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) prepare((LogicalPlan) each.next());
  }

  public boolean isEmpty() { return narrowed.isEmpty(); }

  /** Spark's own pruning of partitions borrows the broadcast of a join, and has to stay as it is. */
  protected LogicalPlan replace(LogicalPlan plan, boolean prunesPartitions) {
    if (prunesPartitions) return plan;
    LogicalPlan found = find(plan);
    return inTree(found == null ? plan : found);
  }

  private LogicalPlan find(LogicalPlan plan) {
    for (int i = 0; i < whole.size(); i++) if (KnownFiles.readSame((LogicalPlan) whole.get(i), plan)) return (LogicalPlan) narrowed.get(i);
    return null;
  }
}
