package headgate.format;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.aggregate.*;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;

/** Says whether an aggregate gives the very same values when it is run a second time, whatever the order of its rows. */
public class Repeatable {
  public static boolean isRepeatable(Aggregate plan) {
    scala.collection.Iterator each = plan.aggregateExpressions().iterator();
    while (each.hasNext()) if (!holds((Expression) each.next())) return false;
    return true;
  }

  private static boolean holds(Expression e) {
    if (e instanceof AggregateExpression && !exact(((AggregateExpression) e).aggregateFunction())) return false;
    scala.collection.Iterator each = e.children().iterator();
    while (each.hasNext()) if (!holds((Expression) each.next())) return false;
    return true;
  }

  /** A sum of floats depends on the order of its rows, and so do first, last and the lists. */
  private static boolean exact(AggregateFunction f) {
    if (f instanceof Count || f instanceof Min || f instanceof Max || f instanceof BitAggregate) return true;
    if (!(f instanceof Sum || f instanceof Average)) return false;
    DataType input = ((Expression) f.children().head()).dataType();
    return !(input instanceof DoubleType) && !(input instanceof FloatType);
  }
}
