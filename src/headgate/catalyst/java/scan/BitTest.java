package headgate.scan;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataTypes;

/** A membership test of whole numbers in a roaring bitmap, callable from Spark's generated code. */
public class BitTest extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final byte[] packed;
  private final int width;
  private transient volatile FixedIds ids;

  public BitTest(byte[] packed, int width) {
    this.packed = packed;
    this.width = width;
  }

  /** Whether a column of whole numbers is in a portable roaring bitmap, 32 bits wide or 64 with the sign bit flipped. */
  public static Expression on(Expression column, byte[] packed, int width) {
    List inputs = new ArrayList();
    boolean isLong = column.resolved() && column.dataType().equals(DataTypes.LongType);
    inputs.add(isLong ? column : (Expression) new Cast(column, DataTypes.LongType, scala.Option.empty(), EvalMode$.MODULE$.LEGACY()));
    return new ScalaUDF(new BitTest(packed, width), DataTypes.BooleanType, Seqs.of(inputs), Seqs.of(new ArrayList()),
        scala.Option.empty(), scala.Option.apply("headgate_bits"), true, true);
  }

  /** The same for a column of a DataFrame. */
  public static Column ofColumn(Column column, byte[] packed, int width) {
    return ExpressionUtils.column(on(ExpressionUtils.expression(column), packed, width));
  }

  public Object apply(Object key) {
    if (key == null) return null;
    if (ids == null) load();
    return ids.contains(((Long) key).longValue()) ? Boolean.TRUE : Boolean.FALSE;
  }

  private synchronized void load() {
    if (ids != null) return;
    try {
      ids = FixedIds.read(packed, width);
    } catch (java.io.IOException damaged) {
      throw new RuntimeException(damaged);
    }
  }

  public boolean equals(Object other) {
    return other instanceof BitTest && ((BitTest) other).width == width && java.util.Arrays.equals(((BitTest) other).packed, packed);
  }

  public int hashCode() { return java.util.Arrays.hashCode(packed); }
}
