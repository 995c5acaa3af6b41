package headgate.plan;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.types.DataTypes;

/**
 * Marks a column that a person publishes values for: a condition that is always true, above the DataFrame's plan.
 *
 * Spark moves it towards the scan like any other condition, which finds the way for us. A plan that Headgate writes has
 * gates and tests of rows instead; in any other plan it lets every row pass.
 */
public class Published extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private static final String NAME = "headgate_published";
  private final String id;

  public Published(String id) { this.id = id; }

  public Object apply(Object value) { return Boolean.TRUE; }

  /** The plan with a mark on one of its columns, given by its position. */
  public static LogicalPlan marked(LogicalPlan analyzed, int position, String id) {
    List inputs = new ArrayList();
    inputs.add((Attribute) analyzed.output().apply(position));
    Expression mark = new ScalaUDF(new Published(id), DataTypes.BooleanType, Seqs.of(inputs), Seqs.of(new ArrayList()),
        scala.Option.empty(), scala.Option.apply(NAME), false, true);
    return new Filter(mark, analyzed);
  }

  /** The publication that a condition is the mark of, or null. */
  static String idOf(Expression condition) {
    if (!(condition instanceof ScalaUDF) || !(((ScalaUDF) condition).function() instanceof Published)) return null;
    return ((Published) ((ScalaUDF) condition).function()).id;
  }

  /** Whether there is a mark in a plan. */
  public static boolean isIn(LogicalPlan plan) {
    if (!plan.containsPattern(TreePattern$.MODULE$.SCALA_UDF())) return false;
    if (plan instanceof Filter && hasMark((Expression) ((Filter) plan).condition())) return true;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (isIn((LogicalPlan) each.next())) return true;
    return false;
  }

  private static boolean hasMark(Expression condition) {
    if (condition instanceof And) return hasMark((Expression) ((And) condition).left()) || hasMark((Expression) ((And) condition).right());
    return idOf(condition) != null;
  }

  /** A filter without its marks; its child where nothing else is left. */
  static LogicalPlan without(LogicalPlan plan) {
    if (!(plan instanceof Filter) || !hasMark((Expression) ((Filter) plan).condition())) return plan;
    Expression rest = rest((Expression) ((Filter) plan).condition());
    LogicalPlan child = (LogicalPlan) ((Filter) plan).child();
    return rest == null ? child : new Filter(rest, child);
  }

  private static Expression rest(Expression condition) {
    if (condition instanceof And) {
      Expression left = rest((Expression) ((And) condition).left());
      Expression right = rest((Expression) ((And) condition).right());
      return left == null ? right : right == null ? left : new And(left, right);
    }
    return idOf(condition) == null ? condition : null;
  }

  public boolean equals(Object other) { return other instanceof Published && ((Published) other).id.equals(id); }
  public int hashCode() { return id.hashCode(); }
}
