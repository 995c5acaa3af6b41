package headgate.changes;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.LongType;

/** One total of a group: which function of which input, and what it gives. */
class Total implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  static final DecimalType COUNT = new DecimalType(20, 0);  // what Spark divides a sum of decimals by
  final String text;
  final String function;  // count, sum, avg, min or max
  final int input;  // -1 counts rows
  final DataType of;  // the type of the input
  private final DataType type;
  private final boolean ansi;
  private final Expression quotient;  // of a decimal's sum and count, as Spark divides them

  Total(String text, String function, int input, DataType of, DataType type, boolean ansi, Expression quotient) {
    this.text = text;
    this.function = function;
    this.input = input;
    this.of = of;
    this.type = type;
    this.ansi = ansi;
    this.quotient = quotient;
  }

  boolean isExtreme() { return isLeast() || function.equals("max"); }
  boolean isLeast() { return function.equals("min"); }

  void add(ExactSum sum, Object value, int weight) {
    if (function.equals("count")) sum.count(weight);
    else if (of instanceof DecimalType || function.equals("sum") && type instanceof LongType) sum.add(value, of, weight);
    else sum.addDouble(((Number) value).doubleValue(), weight);
  }

  /** What it gives, as Catalyst holds it, of so many rows. */
  Object value(long rows, ExactSum sum, byte[] extreme) {
    if (function.equals("count")) return Long.valueOf(input < 0 ? rows : sum.count());
    if (isExtreme()) return extreme == null ? null : OrderValue.of(extreme, of);
    if (sum.count() <= 0L) return null;
    boolean average = function.equals("avg");
    if (of instanceof DecimalType) return average ? divided(decimal(sum), sum.count()) : decimal(sum);
    if (average) return Double.valueOf(sum.rounded() / (double) sum.count());
    return type instanceof LongType ? (Object) whole(sum.whole()) : (Object) Double.valueOf(sum.rounded());
  }

  private Long whole(BigInteger sum) {
    if (ansi && sum.bitLength() > 63) throw tooLarge(sum.toString(), "bigint");
    return Long.valueOf(sum.longValue());
  }

  static DecimalType ofSum(DecimalType summand) { return new DecimalType(Math.min(DecimalType.MAX_PRECISION(), summand.precision() + 10), summand.scale()); }

  private Decimal decimal(ExactSum sum) {
    DecimalType made = ofSum((DecimalType) of);
    BigDecimal exact = new BigDecimal(sum.whole(), made.scale());
    if (exact.precision() <= made.precision()) return decimal(exact, made);
    if (ansi) throw tooLarge(exact.toPlainString(), made.simpleString());
    return null;
  }

  private static Decimal decimal(BigDecimal exact, DecimalType type) {
    return Decimal.apply(scala.math.BigDecimal.javaBigDecimal2bigDecimal(exact), type.precision(), type.scale());
  }

  private Object divided(Decimal sum, long count) {
    if (sum == null) return null;
    Object[] both = new Object[] {sum, decimal(BigDecimal.valueOf(count), COUNT)};
    return quotient.eval(new GenericInternalRow(both));
  }

  private RuntimeException tooLarge(String sum, String type) {
    return new ArithmeticException("`" + text + "` is " + sum + " now, which " + type + " cannot hold: sum a wider type, such as a decimal with more digits or a double.");
  }
}
