package headgate.changes;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;

/** Takes a condition over two sides apart: what compares them, and what looks at the left side alone. */
public class Conditions {
  /** Of each part: "compare", left side, operator, right side, type; or "left" and the condition. */
  public static List parts(LogicalPlan analyzed) {
    Filter filter = (Filter) analyzed;
    List parts = new ArrayList();
    split(filter.condition(), parts);
    return parts;
  }

  private static void split(Expression condition, List parts) {
    if (condition instanceof And) {
      split(((And) condition).left(), parts);
      split(((And) condition).right(), parts);
      return;
    }
    boolean right = looksAt(condition, "right");
    if (!condition.deterministic()) throw refused(condition, "gives another answer each time");
    if (condition.containsPattern(TreePattern$.MODULE$.CURRENT_LIKE())) throw refused(condition, "looks at the clock, so a row could not be taken back as it came; temporal_filter compares with now()");
    if (!right) {
      parts.add(listed(new String[] {"left", condition.sql()}));
      return;
    }
    boolean negated = condition instanceof Not && ((Not) condition).child() instanceof EqualTo;
    Expression compared = negated ? ((Not) condition).child() : condition;
    if (!(compared instanceof BinaryComparison) || compared instanceof EqualNullSafe)
      throw refused(condition, "is none of <, <=, >, >=, =, <>, and each part that is joined by AND has to be one");
    parts.add(comparison((BinaryComparison) compared, negated ? "<>" : ((BinaryComparison) compared).symbol()));
  }

  static List comparison(BinaryComparison compared, String operator) {
    Expression left = (Expression) compared.left();
    Expression right = (Expression) compared.right();
    boolean swapped = looksAt(left, "right");
    if (swapped) {
      left = (Expression) compared.right();
      right = (Expression) compared.left();
    }
    if (looksAt(left, "right") || looksAt(right, "left")) throw refused((Expression) compared, "mixes columns of both sides in one operand");
    if (!looksAt(left, "left")) throw refused((Expression) compared, "does not look at a column of the left side");
    if (OrderCode.width(left.dataType()) < 0) throw refused((Expression) compared, "compares values of type " + left.dataType().sql() + ", which have no order");
    return listed(new String[] {"compare", left.sql(), swapped ? flipped(operator) : operator, right.sql(), left.dataType().json()});
  }

  static String flipped(String operator) {
    if (operator.startsWith("<") && !operator.equals("<>")) return operator.replace('<', '>');
    return operator.startsWith(">") ? operator.replace('>', '<') : operator;
  }

  static boolean looksAt(Expression e, String side) {
    scala.collection.Iterator all = e.references().iterator();
    while (all.hasNext()) {
      scala.collection.immutable.Seq qualifier = ((Attribute) all.next()).qualifier();
      if (!qualifier.isEmpty() && qualifier.last().equals(side)) return true;
    }
    return false;
  }

  static RuntimeException refused(Expression part, String why) {
    return new IllegalArgumentException("`" + part.sql() + "` " + why);
  }

  static List listed(String[] items) {
    List list = new ArrayList();
    for (int i = 0; i < items.length; i++) list.add(items[i]);
    return list;
  }
}
