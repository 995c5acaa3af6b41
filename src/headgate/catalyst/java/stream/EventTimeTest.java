package headgate.stream;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.util.LongAccumulator;

/**
 * The row test: a time above the cut-off passes, another is counted and dropped; a row without a time is counted and
 * passes, as it does in Spark.
 *
 * Generated code calls it with a plain long. The cut-off is no literal of the plan, so the code is the same in each
 * micro-batch, and is compiled once and not each time that the watermark moves.
 */
public class EventTimeTest implements LongPredicate, java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final long cut;
  private final boolean keeps;
  private final LongAccumulator counted;

  private EventTimeTest(long cut, boolean keeps, LongAccumulator counted) {
    this.cut = cut;
    this.keeps = keeps;
    this.counted = counted;
  }

  public static Expression test(Attribute column, long cut, LongAccumulator late, LongAccumulator unknown) {
    Expression time = new PreciseTimestampConversion(column, column.dataType(), DataTypes.LongType);
    Expression never = new Literal(Long.valueOf(0L), DataTypes.LongType);
    return new If(new IsNull(column), call(new EventTimeTest(Long.MAX_VALUE, true, unknown), never),
        call(new EventTimeTest(cut, false, late), time));
  }

  private static Expression call(EventTimeTest test, Expression time) {
    List arguments = new ArrayList();
    arguments.add(time);
    return new Invoke(new Literal(test, new ObjectType(LongPredicate.class)), "test", DataTypes.BooleanType,
        Seqs.of(arguments), Seqs.of(new ArrayList()), true, false, true);
  }

  public static boolean isIn(Expression condition) {
    if (!(condition instanceof If) || !(((If) condition).falseValue() instanceof Invoke)) return false;
    Object target = ((Invoke) ((If) condition).falseValue()).targetObject();
    return target instanceof Literal && ((Literal) target).value() instanceof EventTimeTest;
  }

  public boolean test(long time) {
    if (time > cut) return true;
    counted.add(1L);
    return keeps;
  }

  public String toString() { return keeps ? "no event time" : "later than " + cut; }
}
