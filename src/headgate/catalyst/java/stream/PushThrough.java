package headgate.stream;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExplodeBase;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Inline;
import org.apache.spark.sql.catalyst.expressions.JsonTuple;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.ReplicateRows;
import org.apache.spark.sql.catalyst.expressions.Stack;
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys$;
import org.apache.spark.sql.catalyst.plans.*;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;

/**
 * Carries a demand from a plan node to one of its children: in the child's columns, or null where it may not pass.
 *
 * It passes a node that treats each row by itself, so that a row left out below leaves out nothing but what came of it:
 * the other rows keep their values, their tasks and their order.
 */
public class PushThrough {
  public static Demand through(LogicalPlan plan, int number, Demand demand) {
    LogicalPlan child = (LogicalPlan) plan.children().apply(number);
    if (!isDeterministic(plan) || !isRowByRow(plan, number)) return null;
    if (demand.isCut()) {
      List same = translated(plan, child, number, demand.column);
      for (int i = 0; i < same.size(); i++) {
        Expression one = (Expression) same.get(i);
        if (!(one instanceof Attribute) || !((Attribute) one).exprId().equals(((NamedExpression) same.get(0)).exprId())) return null;
      }
      return same.isEmpty() ? null : Demand.cut((Attribute) same.get(0), demand.cut);
    }
    List expressions = new ArrayList();
    for (int i = 0; i < demand.expressions.size(); i++) {
      List each = translated(plan, child, number, (Expression) demand.expressions.get(i));
      if (each.isEmpty()) return null;
      for (int j = 0; j < each.size(); j++) if (!holds(expressions, (Expression) each.get(j))) expressions.add(each.get(j));
    }
    return Demand.late(expressions);
  }

  private static boolean isDeterministic(LogicalPlan plan) {
    scala.collection.Iterator each = plan.expressions().iterator();
    while (each.hasNext()) if (!((Expression) each.next()).deterministic()) return false;
    return true;
  }

  private static boolean isRowByRow(LogicalPlan plan, int number) {
    if (plan instanceof Project || plan instanceof Filter || plan instanceof Expand || plan instanceof Union) return true;
    if (plan instanceof AppendColumns) return true;
    if (plan instanceof Generate) return isBuiltIn((Expression) ((Generate) plan).generator());
    if (plan instanceof BaseEvalPython) return RowByRowPython.all(((BaseEvalPython) plan).udfs());
    if (plan instanceof RepartitionOperation) return isPlacedByValue((RepartitionOperation) plan);
    return plan instanceof Join && isKeptSide((Join) plan, number);
  }

  /** A generator of a user may keep what it has seen, and give it out at the end. */
  private static boolean isBuiltIn(Expression generator) {
    return generator instanceof ExplodeBase || generator instanceof Inline || generator instanceof Stack
        || generator instanceof JsonTuple || generator instanceof ReplicateRows;
  }

  /**
   * Whether the task that a row goes to depends on that row alone. Dealt out in turn, or by ranges of a sample, it
   * depends on the other rows too.
   */
  private static boolean isPlacedByValue(RepartitionOperation plan) {
    if (plan instanceof Repartition && !plan.shuffle()) return true;
    Object placing = plan.partitioning();
    return placing instanceof HashPartitioning || placing instanceof SinglePartition$;
  }

  /**
   * Of a join with a table: whether each result row comes of one row of this side.
   *
   * Without equal keys an outer join may collect the rows that found nobody, and cut them into tasks by their number.
   */
  private static boolean isKeptSide(Join join, int number) {
    JoinType type = join.joinType();
    if (type instanceof Inner$ || type instanceof Cross$) return true;
    if (!ExtractEquiJoinKeys$.MODULE$.unapply(join).isDefined()) return false;
    if (number == 1) return type instanceof RightOuter$;
    return type instanceof LeftOuter$ || type instanceof LeftSemi$ || type instanceof LeftAnti$ || type instanceof ExistenceJoin;
  }

  /** The expression in columns of the child; several where one row becomes several; none where that is impossible. */
  private static List translated(LogicalPlan plan, LogicalPlan child, int number, Expression expression) {
    List found = new ArrayList();
    if (plan instanceof Expand) {
      scala.collection.Iterator each = ((Expand) plan).projections().iterator();
      while (each.hasNext()) add(found, replaced(expression, plan.output(), (scala.collection.Seq) each.next()), child);
      return found.size() == ((Expand) plan).projections().size() ? found : new ArrayList();
    }
    if (plan instanceof Project) add(found, replaced(expression, plan.output(), ((Project) plan).projectList()), child);
    else if (plan instanceof Union) add(found, replaced(expression, plan.output(), child.output()), child);
    else add(found, expression, child);
    return found;
  }

  private static void add(List found, Expression expression, LogicalPlan child) {
    if (expression != null && expression.references().subsetOf(child.outputSet())) found.add(expression);
  }

  private static boolean holds(List expressions, Expression wanted) {
    for (int i = 0; i < expressions.size(); i++) if (((Expression) expressions.get(i)).semanticEquals(wanted)) return true;
    return false;
  }

  /** The expression with each column of `output` replaced by what stands at its place in `sources`. */
  private static Expression replaced(Expression expression, scala.collection.Seq output, scala.collection.Seq sources) {
    if (expression instanceof Attribute) {
      for (int i = 0; i < output.size(); i++) {
        if (!((Attribute) output.apply(i)).exprId().equals(((Attribute) expression).exprId())) continue;
        Expression source = (Expression) sources.apply(i);
        return source instanceof Alias ? (Expression) ((Alias) source).child() : source;
      }
      return null;
    }
    List children = new ArrayList();
    scala.collection.Iterator each = expression.children().iterator();
    while (each.hasNext()) {
      Expression child = replaced((Expression) each.next(), output, sources);
      if (child == null) return null;
      children.add(child);
    }
    return children.isEmpty() ? expression : (Expression) expression.withNewChildren(Seqs.of(children));
  }
}
