package headgate.interop;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.DynamicPruningSubquery;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;

/** The plans inside the expressions of a plan node: found, or replaced by what a function makes of each. */
public abstract class Subqueries extends scala.runtime.AbstractFunction1 {
  /** The plan that takes the place of one inside an expression; itself where nothing changes. */
  protected abstract LogicalPlan replace(LogicalPlan plan, boolean prunesPartitions);

  /** Whether a node has any. */
  public static boolean areIn(LogicalPlan node) {
    scala.collection.Iterator each = node.expressions().iterator();
    while (each.hasNext()) if (areIn((Expression) each.next())) return true;
    return false;
  }

  private static boolean areIn(Expression e) { return e.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION()); }

  /** The plans inside a node, but not those inside its children. */
  public static List of(LogicalPlan node) {
    List found = new ArrayList();
    scala.collection.Iterator each = node.expressions().iterator();
    while (each.hasNext()) collect((Expression) each.next(), found);
    return found;
  }

  private static void collect(Expression e, List found) {
    if (!areIn(e)) return;
    if (e instanceof PlanExpression && ((PlanExpression) e).plan() instanceof LogicalPlan) found.add(((PlanExpression) e).plan());
    scala.collection.Iterator each = e.children().iterator();
    while (each.hasNext()) collect((Expression) each.next(), found);
  }

  /** The node with the plans inside it replaced. */
  public LogicalPlan inNode(LogicalPlan node) { return areIn(node) ? (LogicalPlan) node.mapExpressions(this) : node; }

  /** What takes the place of a leaf; itself where nothing changes. */
  protected LogicalPlan leaf(LogicalPlan plan) { return plan; }

  /** The tree with its leaves and the plans inside all its nodes replaced. */
  public LogicalPlan inTree(LogicalPlan plan) {
    if (plan.children().isEmpty()) return inNode(leaf(plan));
    List children = new ArrayList();
    boolean changed = false;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) {
      LogicalPlan child = (LogicalPlan) each.next();
      LogicalPlan fresh = inTree(child);
      changed = changed || fresh != child;
      children.add(fresh);
    }
    return inNode(changed ? (LogicalPlan) plan.withNewChildren(Seqs.of(children)) : plan);
  }

  public Object apply(Object argument) {
    Expression e = (Expression) argument;
    if (!areIn(e)) return e;
    Expression result = e;
    if (e instanceof PlanExpression && ((PlanExpression) e).plan() instanceof LogicalPlan) {
      LogicalPlan before = (LogicalPlan) ((PlanExpression) e).plan();
      LogicalPlan after = replace(before, e instanceof DynamicPruningSubquery);
      if (after != before) result = (Expression) ((PlanExpression) e).withNewPlan(after);
    }
    List children = new ArrayList();
    boolean changed = false;
    scala.collection.Iterator each = result.children().iterator();
    while (each.hasNext()) {
      Expression child = (Expression) each.next();
      Expression fresh = (Expression) apply((Object) child);
      changed = changed || fresh != child;
      children.add(fresh);
    }
    return changed ? (Expression) result.withNewChildren(Seqs.of(children)) : result;
  }
}
