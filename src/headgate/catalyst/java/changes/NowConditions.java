package headgate.changes;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Takes a condition with now() apart: comparisons with the time, and conditions on the row alone.
 *
 * `(a AND b) OR o` is `(a OR o) AND (b OR o)`. So each comparison comes with the conditions that it is joined to by OR,
 * of which one has to be true, neither false nor NULL, to let a row through whatever the time is.
 */
public class NowConditions {
  /** As `Conditions.parts`; a comparison may have the condition behind it that it is joined to by OR. */
  public static List parts(LogicalPlan analyzed) {
    Filter filter = (Filter) analyzed;
    scala.collection.Iterator columns = filter.child().output().iterator();
    Attribute now = null;
    while (columns.hasNext()) now = (Attribute) columns.next();  // the last one is the clock's
    List parts = new ArrayList();
    split(NowReplaced.in(filter.condition(), now), null, parts);
    return parts;
  }

  private static void split(Expression condition, Expression others, List parts) {
    if (!condition.deterministic()) throw Conditions.refused(condition, "gives another answer each time");
    if (!hasNow(condition)) {
      parts.add(Conditions.part("left", or(condition, others)));
    } else if (condition instanceof And) {
      split(((And) condition).left(), others, parts);
      split(((And) condition).right(), others, parts);
    } else if (condition instanceof Or) {
      Expression left = ((Or) condition).left();
      Expression right = ((Or) condition).right();
      if (hasNow(left) && hasNow(right))
        throw Conditions.refused(condition, "has now() on both sides of OR; one side may have it, and the other looks at columns only");
      split(hasNow(left) ? left : right, or(hasNow(left) ? right : left, others), parts);
    } else if (condition instanceof Not && !(((Not) condition).child() instanceof EqualTo)) {
      split(negated(condition, ((Not) condition).child()), others, parts);
    } else {
      parts.add(comparison(condition, others));
    }
  }

  private static Expression or(Expression condition, Expression others) {
    return others == null ? condition : new Or(condition, others);
  }

  /** What is true where a condition is false. */
  private static Expression negated(Expression whole, Expression e) {
    if (e instanceof Not) return ((Not) e).child();
    if (e instanceof And) return new Or(new Not(((And) e).left()), new Not(((And) e).right()));
    if (e instanceof Or) return new And(new Not(((Or) e).left()), new Not(((Or) e).right()));
    Expression opposite = Opposite.of(e);
    if (opposite == null) throw notCompared(whole);
    return opposite;
  }

  private static List comparison(Expression condition, Expression others) {
    boolean negated = condition instanceof Not;
    Expression compared = negated ? ((Not) condition).child() : condition;
    if (!(compared instanceof BinaryComparison) || compared instanceof EqualNullSafe) throw notCompared(condition);
    Expression left = (Expression) ((BinaryComparison) compared).left();
    Expression right = (Expression) ((BinaryComparison) compared).right();
    if (hasNow(left) && hasNow(right)) throw Conditions.refused(condition, "has now() on both sides");
    Expression time = hasNow(left) ? left : right;
    if (Conditions.looksAt(time, "left"))
      throw Conditions.refused(condition, "has now() and a column in one operand; put the column on the other side, as in `ts > now() - INTERVAL 1 HOUR`");
    Rising.check(time);
    List part = Conditions.comparison((BinaryComparison) compared, negated ? "<>" : ((BinaryComparison) compared).symbol());
    if (others != null) part.addAll(Conditions.written(others));
    return part;
  }

  private static RuntimeException notCompared(Expression e) {
    return Conditions.refused(e, "has now() and is none of <, <=, >, >=, =, <> or BETWEEN");
  }

  private static boolean hasNow(Expression e) { return Conditions.looksAt(e, "right"); }
}
