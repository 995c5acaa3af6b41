package headgate.stream;

import headgate.changes.MovingFilter;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.TransformWithState;

/**
 * What the dynamic filter operator never looks at again: rows below a value that only rises.
 *
 * The value is the one that the batch before committed, as its tasks reported it. After a restart nothing is known in the
 * first batch, and so nothing is cut.
 */
class MovingCut {
  /** What the operator asks of its input, or null where the plan is no such operator. */
  static Demand demand(LogicalPlan plan, LogicalPlan child, MicroBatch batch) {
    if (!(plan instanceof TransformWithState)) return null;
    Object processor = ((TransformWithState) plan).statefulProcessor();
    if (!(processor instanceof MovingFilter)) return null;
    Attribute time = time(child);
    if (time == null) return Demand.nothing("the dynamic filter above it may need every row: it does not compare a time with a value that only rises");
    Long cut = ((MovingFilter) processor).neverAgain(batch.queryId, batch.number - 1);
    return cut == null ? Demand.nothing("the value that the dynamic filter compares with is not known yet") : Demand.cut(time, cut.longValue());
  }

  private static Attribute time(LogicalPlan child) {
    for (int i = 0; i < child.output().size(); i++) {
      Attribute column = (Attribute) child.output().apply(i);
      if (column.name().equals(MovingFilter.TIME) && EventOrder.isTime(column)) return column;
    }
    return null;
  }

  /** Whether the child of a union has only NULL at this place: the values that rows are compared with have no time. */
  static boolean isNull(LogicalPlan union, LogicalPlan child, Attribute column) {
    LogicalPlan plan = child;
    if (!(plan instanceof Project)) return false;
    for (int i = 0; i < union.output().size(); i++) {
      if (!((Attribute) union.output().apply(i)).exprId().equals(column.exprId())) continue;
      Expression made = (Expression) ((Project) plan).projectList().apply(i);
      Expression inner = made.children().isEmpty() ? made : (Expression) made.children().apply(0);
      return inner instanceof Literal && ((Literal) inner).value() == null;
    }
    return false;
  }
}
