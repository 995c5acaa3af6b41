package headgate.changes;

import java.math.BigInteger;
import java.util.Arrays;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A value as bytes whose unsigned order is Spark's order of the values, none the beginning of another.
 *
 * So a code with anything behind it stays in order, and all that begins with a code is one range.
 */
class OrderCode {
  private static final byte ESCAPED = (byte) 0xff;

  /** How many bytes each code of a type has: 0 where they differ, -1 where the type has no order that is known here. */
  static int width(DataType type) {
    if (type instanceof DecimalType) return 17;
    if (type instanceof BinaryType) return 0;
    if (type instanceof StringType) return ((StringType) type).supportsBinaryOrdering() ? 0 : -1;
    boolean number = type instanceof LongType || type instanceof IntegerType || type instanceof ShortType || type instanceof ByteType;
    boolean time = type instanceof DateType || type instanceof TimestampType || type instanceof TimestampNTZType
        || type instanceof DayTimeIntervalType || type instanceof YearMonthIntervalType;
    return number || time || type instanceof DoubleType || type instanceof FloatType || type instanceof BooleanType ? 8 : -1;
  }

  /** The code of a value as Catalyst holds it. */
  static byte[] of(Object value, DataType type) {
    if (value instanceof Double || value instanceof Float) {
      double d = ((Number) value).doubleValue();
      long bits = Double.doubleToLongBits(d == 0.0d ? 0.0d : d);  // one zero, one NaN, which is above infinity as in Spark
      return eight(bits < 0L ? bits ^ Long.MAX_VALUE : bits);
    }
    if (value instanceof Decimal) return seventeen((Decimal) value, ((DecimalType) type).scale());
    if (value instanceof UTF8String) return ended(((UTF8String) value).getBytes());
    if (value instanceof byte[]) return ended((byte[]) value);
    if (value instanceof Boolean) return eight(((Boolean) value).booleanValue() ? 1L : 0L);
    return eight(((Number) value).longValue());
  }

  /** Some code of a type, for rows that are not compared. */
  static byte[] any(DataType type) { return new byte[width(type) == 0 ? 2 : width(type)]; }

  /** Where a row begins that stands behind a code. */
  static int end(byte[] bytes, int width) {
    if (width > 0) return width;
    int at = 0;
    while (bytes[at] != 0 || bytes[at + 1] == ESCAPED) at += bytes[at] == 0 ? 2 : 1;
    return at + 2;
  }

  /** The least string of bytes above all that begin with these; null where there is none. */
  static byte[] after(byte[] prefix) {
    int last = prefix.length - 1;
    while (last >= 0 && prefix[last] == (byte) 0xff) last--;
    if (last < 0) return null;
    byte[] next = Arrays.copyOf(prefix, last + 1);
    next[last]++;
    return next;
  }

  private static byte[] eight(long signed) {
    byte[] code = new byte[8];
    long bits = signed ^ Long.MIN_VALUE;
    for (int i = 7; i >= 0; i--) {
      code[i] = (byte) bits;
      bits >>>= 8;
    }
    return code;
  }

  private static byte[] seventeen(Decimal value, int scale) {
    BigInteger unscaled = value.toJavaBigDecimal().setScale(scale).unscaledValue();
    byte[] bytes = unscaled.toByteArray();
    byte[] code = new byte[17];
    Arrays.fill(code, 0, 17 - bytes.length, (byte) (unscaled.signum() < 0 ? 0xff : 0));
    System.arraycopy(bytes, 0, code, 17 - bytes.length, bytes.length);
    code[0] ^= (byte) 0x80;
    return code;
  }

  /** Zeros inside are followed by 255, and two zeros end it. */
  private static byte[] ended(byte[] bytes) {
    int zeros = 0;
    for (int i = 0; i < bytes.length; i++) if (bytes[i] == 0) zeros++;
    byte[] code = new byte[bytes.length + zeros + 2];
    int at = 0;
    for (int i = 0; i < bytes.length; i++) {
      code[at++] = bytes[i];
      if (bytes[i] == 0) code[at++] = ESCAPED;
    }
    return code;
  }
}
