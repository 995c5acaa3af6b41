package headgate.format;

import headgate.interop.Seqs;
import headgate.interop.Subqueries;
import headgate.interop.Trees;
import headgate.scan.Alternatives;
import headgate.scan.PinnedFiles;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;

/**
 * The scan of a told table with the Projects and Filters right above it. They are edited together: what Spark pushes into
 * a scan when it plans it (columns, conditions, its own pruning of partitions) has to stay next to the scan.
 */
public class ToldScan {
  public final LogicalPlan top;
  public final LogicalPlan leaf;
  /** How many nodes stand above the leaf. */
  public final int depth;
  private final ToldTable table;

  private ToldScan(LogicalPlan top, LogicalPlan leaf, int depth, ToldTable table) {
    this.top = top;
    this.leaf = leaf;
    this.depth = depth;
    this.table = table;
  }

  /** The told scan that a node is the top of, or null. */
  public static ToldScan at(LogicalPlan top) {
    LogicalPlan below = top;
    int depth = 0;
    while (below instanceof Project || below instanceof Filter) {
      below = (LogicalPlan) below.children().head();
      depth++;
    }
    if (!below.children().isEmpty()) return null;
    TableFormat format = TableFormats.of(below);
    return format instanceof ToldTable ? new ToldScan(top, below, depth, (ToldTable) format) : null;
  }

  /**
   * The scan with its edit made. In a whole plan that rests on tables which may have changed when it is executed, both
   * ways of reading it are kept, and the choice is made then.
   */
  public LogicalPlan narrowed(ScanEdit edit) {
    PinnedFiles pinned = new PinnedFiles(edit.listings, edit.snapshot);
    LogicalPlan whole = pinned.inTree(top);
    Expression test = null;
    List tests = edit.tests(leaf);
    for (int i = 0; i < tests.size(); i++) test = ScanEdit.and(test, (Expression) ((Object[]) tests.get(i))[1]);
    List above = new ArrayList();
    Expression before = null;
    LogicalPlan at = top;
    while (at != leaf) {
      if (at instanceof Filter) before = ScanEdit.and(before, (Expression) ((Filter) at).condition());
      else before = null;  // only what stands right above the leaf speaks of the leaf's own columns
      above.add(at);
      at = (LogicalPlan) at.children().head();
    }
    boolean alone = edit.snapshot == null || edit.snapshot.isEmpty();
    LogicalPlan told = test == null || (!alone && refersToCte(top)) ? null : table.told(copy(leaf), before, test);
    if (told == null) {
      edit.noteUntold();
      return whole;
    }
    int kept = above.size();
    while (kept > 0 && above.get(kept - 1) instanceof Filter) kept--;
    for (int i = kept - 1; i >= 0; i--) told = (LogicalPlan) ((LogicalPlan) above.get(i)).withNewChildren(one(told));
    told = pinned.inTree(told);
    if (edit.snapshot != null) edit.expectTold(Trees.leaf(told));
    return alone ? told : new Alternatives(edit.snapshot, told, whole);
  }

  /** Whether a subquery reads what another part of the plan computes: Spark resolves that later, and not inside of a leaf. */
  private static boolean refersToCte(LogicalPlan plan) {
    if (plan.nodeName().startsWith("CTERelation") || plan instanceof WithCTE) return true;
    List inside = Subqueries.of(plan);
    for (int i = 0; i < inside.size(); i++) if (refersToCte((LogicalPlan) inside.get(i))) return true;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (refersToCte((LogicalPlan) each.next())) return true;
    return false;
  }

  /** A leaf of our own to put a mark on: others may hold this one. */
  private static LogicalPlan copy(LogicalPlan leaf) { return (LogicalPlan) leaf.makeCopy(Trees.fields(leaf)); }

  private static scala.collection.immutable.Seq one(LogicalPlan child) {
    List children = new ArrayList();
    children.add(child);
    return Seqs.of(children);
  }
}
