package headgate.changes;

import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;

/** The comparison that is true where another is false; both are NULL where a side is. */
class Opposite {
  /** Null for what is no comparison by order. */
  static Expression of(Expression e) {
    if (!(e instanceof BinaryComparison)) return null;
    Expression left = (Expression) ((BinaryComparison) e).left();
    Expression right = (Expression) ((BinaryComparison) e).right();
    if (e instanceof LessThan) return new GreaterThanOrEqual(left, right);
    if (e instanceof LessThanOrEqual) return new GreaterThan(left, right);
    if (e instanceof GreaterThan) return new LessThanOrEqual(left, right);
    if (e instanceof GreaterThanOrEqual) return new LessThan(left, right);
    return null;
  }
}
