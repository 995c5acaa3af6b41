package headgate;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.LongAccumulator;

/**
 * The second half of the row test, asked only about rows that are not above the cut-off.
 *
 * Without an event time: count it and keep it, as Spark does. With one: count it as late and drop it. A row on time
 * costs one comparison and never comes here.
 */
public class LateCounter extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final LongAccumulator late;
  private final LongAccumulator unknown;

  public LateCounter(LongAccumulator late, LongAccumulator unknown) {
    this.late = late;
    this.unknown = unknown;
  }

  public Expression test(Attribute column, long cut) {
    List inputs = new ArrayList();
    inputs.add(new IsNull(column));
    Expression counted = new ScalaUDF(this, DataTypes.BooleanType, Seqs.of(inputs), Seqs.of(new ArrayList()),
        scala.Option.empty(), scala.Option.apply("headgate_late"), false, true);
    return new Or(new GreaterThan(column, new Literal(Long.valueOf(cut), column.dataType())), counted);
  }

  public static boolean isIn(Expression condition) {
    if (!(condition instanceof Or) || !(((Or) condition).right() instanceof ScalaUDF)) return false;
    return ((ScalaUDF) ((Or) condition).right()).function() instanceof LateCounter;
  }

  public Object apply(Object isNull) {
    if (((Boolean) isNull).booleanValue()) {
      unknown.add(1L);
      return Boolean.TRUE;
    }
    late.add(1L);
    return Boolean.FALSE;
  }
}
