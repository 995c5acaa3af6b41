package headgate.changes;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Arrays;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.YearMonthIntervalType;
import org.apache.spark.unsafe.types.UTF8String;

/** The value of an order code again, as Catalyst holds it. */
class OrderValue {
  static Object of(byte[] code, DataType type) {
    if (type instanceof DecimalType) return decimal(code, (DecimalType) type);
    if (type instanceof StringType) return UTF8String.fromBytes(unescaped(code));
    if (type instanceof BinaryType) return unescaped(code);
    long bits = 0L;
    for (int i = 0; i < 8; i++) bits = (bits << 8) | (code[i] & 0xffL);
    long signed = bits ^ Long.MIN_VALUE;
    if (type instanceof DoubleType) return Double.valueOf(fraction(signed));
    if (type instanceof FloatType) return Float.valueOf((float) fraction(signed));
    if (type instanceof BooleanType) return Boolean.valueOf(signed != 0L);
    if (type instanceof ByteType) return Byte.valueOf((byte) signed);
    if (type instanceof ShortType) return Short.valueOf((short) signed);
    boolean narrow = type instanceof IntegerType || type instanceof DateType || type instanceof YearMonthIntervalType;
    if (narrow) return Integer.valueOf((int) signed);
    return Long.valueOf(signed);
  }

  private static double fraction(long signed) { return Double.longBitsToDouble(signed < 0L ? signed ^ Long.MAX_VALUE : signed); }

  private static Decimal decimal(byte[] code, DecimalType type) {
    byte[] bytes = Arrays.copyOf(code, code.length);
    bytes[0] ^= (byte) 0x80;
    BigDecimal value = new BigDecimal(new BigInteger(bytes), type.scale());
    return Decimal.apply(scala.math.BigDecimal.javaBigDecimal2bigDecimal(value), type.precision(), type.scale());
  }

  private static byte[] unescaped(byte[] code) {
    byte[] bytes = new byte[code.length];
    int length = 0;
    for (int at = 0; at < code.length - 2; at++) {
      bytes[length++] = code[at];
      if (code[at] == 0) at++;
    }
    return Arrays.copyOf(bytes, length);
  }
}
