package headgate.plan;

import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/** The join that Spark makes of a MERGE: target left, source right. */
public class MergeJoin {
  /**
   * The Project that numbers the rows of the target, or null.
   *
   * Spark asks the numbers only whether two rows of the join come from one row of the target, so it does not matter
   * which they are, and the rows below may be fewer. No statement can name them.
   */
  public static LogicalPlan numbered(MergeRows merge) {
    LogicalPlan join = (LogicalPlan) merge.child();
    // what the source computes may be computed above the join
    while (join instanceof Project && areDeterministic((Project) join)) join = (LogicalPlan) ((Project) join).child();
    if (!(join instanceof Join)) return null;
    LogicalPlan target = (LogicalPlan) ((Join) join).left();
    while (target instanceof Filter && isDeterministic(((Filter) target).condition())) target = (LogicalPlan) ((Filter) target).child();
    if (!(target instanceof Project) || !((LogicalPlan) ((Project) target).child()).deterministic()) return null;
    scala.collection.Iterator each = ((Project) target).projectList().iterator();
    while (each.hasNext()) {
      Expression column = (Expression) each.next();
      if (!isDeterministic(column) && !isNumber(column)) return null;
    }
    return target;
  }

  private static boolean areDeterministic(Project columns) {
    scala.collection.Iterator each = columns.projectList().iterator();
    while (each.hasNext()) if (!isDeterministic(each.next())) return false;
    return true;
  }

  private static boolean isDeterministic(Object condition) { return ((Expression) condition).deterministic(); }

  private static boolean isNumber(Expression column) {
    return column instanceof Alias && ((Alias) column).name().equals("__row_id") && ((Alias) column).child() instanceof MonotonicallyIncreasingID;
  }
}
