package headgate.changes;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * The sum of numbers that come and go, without rounding, so that nothing is left of what was taken away again.
 *
 * Whole numbers are kept as they are, decimals without their point, and doubles in units of a power of two that divides
 * them all. What is no number, and what is not finite, is counted.
 */
class ExactSum {
  private static final int MANTISSA = 52;
  private static final int LEAST = -1074;  // the exponent of the least double
  private BigInteger sum = BigInteger.ZERO;
  private int exponent;
  private long count;
  private long nans;
  private long up;
  private long down;

  long count() { return count; }
  void count(long weight) { count += weight; }
  BigInteger whole() { return sum; }

  void add(Object value, DataType type, int weight) {
    count += weight;
    if (value instanceof Decimal) addUnits(((Decimal) value).toJavaBigDecimal().setScale(((DecimalType) type).scale()).unscaledValue(), 0, weight);
    else addUnits(BigInteger.valueOf(((Number) value).longValue()), 0, weight);
  }

  void addDouble(double value, int weight) {
    count += weight;
    if (Double.isNaN(value)) nans += weight;
    else if (Double.isInfinite(value) && value > 0) up += weight;
    else if (Double.isInfinite(value)) down += weight;
    else if (value != 0.0d) addFinite(value, weight);
  }

  private void addFinite(double value, int weight) {
    int power = Math.max(Math.getExponent(value) - MANTISSA, LEAST);
    long units = (long) Math.scalb(value, -power);  // below 2^53, so it is exact
    int zeros = Long.numberOfTrailingZeros(units);
    addUnits(BigInteger.valueOf(units >> zeros), power + zeros, weight);
  }

  private void addUnits(BigInteger units, int power, int weight) {
    if (sum.signum() == 0) exponent = power;
    if (power < exponent) {
      sum = sum.shiftLeft(exponent - power);
      exponent = power;
    }
    BigInteger aligned = units.shiftLeft(power - exponent);
    sum = weight == 1 ? sum.add(aligned) : weight == -1 ? sum.subtract(aligned) : sum.add(aligned.multiply(BigInteger.valueOf(weight)));
  }

  /** The sum of doubles, rounded once. */
  double rounded() {
    if (nans > 0 || up > 0 && down > 0) return Double.NaN;
    if (up > 0) return Double.POSITIVE_INFINITY;
    if (down > 0) return Double.NEGATIVE_INFINITY;
    BigInteger size = sum.abs();
    int power = exponent;
    int beyond = size.bitLength() - 64;
    if (beyond > 0) {  // 64 bits and one that says whether there was more below them round as all bits would
      boolean more = size.getLowestSetBit() < beyond;
      size = size.shiftRight(beyond);
      if (more) size = size.setBit(0);
      power += beyond;
    }
    double value = Math.scalb(size.doubleValue(), power);
    return sum.signum() < 0 ? -value : value;
  }

  boolean isNothing() { return sum.signum() == 0 && count == 0L && nans == 0L && up == 0L && down == 0L; }

  void write(DataOutputStream out) throws IOException {
    out.writeLong(count);
    Bytes.write(out, sum.signum() == 0 ? null : sum.toByteArray());
    out.writeShort(exponent);
    boolean odd = nans != 0L || up != 0L || down != 0L;
    out.writeBoolean(odd);
    if (!odd) return;
    out.writeLong(nans);
    out.writeLong(up);
    out.writeLong(down);
  }

  void read(DataInputStream in) throws IOException {
    count = in.readLong();
    byte[] bytes = Bytes.read(in);
    sum = bytes == null ? BigInteger.ZERO : new BigInteger(bytes);
    exponent = in.readShort();
    if (!in.readBoolean()) return;
    nans = in.readLong();
    up = in.readLong();
    down = in.readLong();
  }
}
