package headgate.build;

import headgate.scan.IdSet;
import headgate.scan.LongSet;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.HashSet;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Collects the values of one key column of one task with bounded memory: set, then bitmap, then range.
 *
 * Packed form: kind (0 set of int64, 1 bitmap, 2 int64 range, 3 set of bytes, 4 range of bytes, 6 wide bitmap), NULL seen, body.
 * Whole numbers are written as they are, decimals unscaled, floats as the bits of a double, strings and binary as bytes,
 * wide decimals as big-endian two's complement. Kind 5 is a text column of which nothing could be kept: any value.
 */
public class KeyCollector {
  private final int ordinal;
  private final DataType type;
  private final int maxDistinct;
  private final long maxBytes;
  private final boolean text;
  /** Long lists of decimals take Python too long to read: there are few of them, or a bitmap of 32 bits. */
  private final boolean unlisted;
  private boolean seenNull;
  private LongSet longs = new LongSet();
  private IdSet many;
  private HashSet texts = new HashSet();
  private long textBytes;
  private long low = Long.MAX_VALUE;
  private long high = Long.MIN_VALUE;
  private UTF8String lowText;
  private UTF8String highText;
  private boolean overflow;

  public KeyCollector(int ordinal, DataType type, int maxDistinct, long maxBytes) {
    this.ordinal = ordinal;
    this.type = type;
    this.maxDistinct = maxDistinct;
    this.maxBytes = maxBytes;
    this.text = type instanceof StringType || type instanceof BinaryType || wide(type);
    this.unlisted = type instanceof DecimalType;
  }

  static boolean wide(DataType type) { return type instanceof DecimalType && ((DecimalType) type).precision() > 18; }

  public void add(InternalRow row) {
    if (row.isNullAt(ordinal)) seenNull = true;
    else if (text) addText(row);
    else addLong(place(row));
  }

  private long place(InternalRow row) {
    if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) return row.getLong(ordinal);
    if (type instanceof IntegerType || type instanceof DateType) return row.getInt(ordinal);
    if (type instanceof ShortType) return row.getShort(ordinal);
    if (type instanceof ByteType) return row.getByte(ordinal);
    if (type instanceof BooleanType) return row.getBoolean(ordinal) ? 1L : 0L;
    if (type instanceof DoubleType) return floatPlace(row.getDouble(ordinal));
    if (type instanceof FloatType) return floatPlace(row.getFloat(ordinal));
    DecimalType decimal = (DecimalType) type;
    return row.getDecimal(ordinal, decimal.precision(), decimal.scale()).toUnscaledLong();
  }

  private static long floatPlace(double value) {
    if (Double.isNaN(value)) return 0x7FF0000000000001L;
    long bits = Double.doubleToLongBits(value + 0.0d);
    return bits >= 0L ? bits : (bits ^ Long.MAX_VALUE) + 1L;
  }

  /** What is written for a place: the double itself for a float column, the place for all others. */
  private long written(long place) {
    if (!(type instanceof DoubleType || type instanceof FloatType)) return place;
    if (place == 0x7FF0000000000001L) return Double.doubleToLongBits(Double.NaN);
    return place >= 0L ? place : (place - 1L) ^ Long.MAX_VALUE;
  }

  public void addNull() { seenNull = true; }

  public void addLong(long value) {
    if (value < low) low = value;
    if (value > high) high = value;
    if (overflow) return;
    if (many != null) {
      many.add(value);
      if (unlisted && outside(value)) giveUp();
    } else {
      longs.add(value);
      if (longs.size() > maxDistinct) toBitmap();
    }
  }

  private static boolean outside(long value) { return value < 0L || value > 0xFFFFFFFFL; }

  private void toBitmap() {
    boolean floating = type instanceof DoubleType || type instanceof FloatType;
    if (floating || unlisted && (outside(low) || outside(high))) {
      giveUp();
      return;
    }
    many = new IdSet();
    long[] held = longs.values();
    for (int i = 0; i < held.length; i++) many.add(held[i]);
    longs = null;
  }

  /** Called between batches of rows: asking a bitmap for its size is not free. */
  public void checkSize() {
    if (many != null && many.bytes() > maxBytes) giveUp();
  }

  private void giveUp() {
    overflow = true;
    longs = null;
    many = null;
    texts = null;
  }

  private void addText(InternalRow row) {
    UTF8String value = bytesOf(row);
    if (lowText == null || value.compareTo(lowText) < 0) lowText = value.copy();
    if (highText == null || value.compareTo(highText) > 0) highText = value.copy();
    if (overflow || texts.contains(value)) return;
    texts.add(value.copy());
    textBytes += value.numBytes() + 48L;
    if (texts.size() > maxDistinct || textBytes > maxBytes) giveUp();
  }

  private UTF8String bytesOf(InternalRow row) {
    if (type instanceof StringType) return row.getUTF8String(ordinal);
    if (type instanceof BinaryType) return UTF8String.fromBytes(row.getBinary(ordinal));
    DecimalType decimal = (DecimalType) type;
    return UTF8String.fromBytes(row.getDecimal(ordinal, decimal.precision(), decimal.scale()).toJavaBigDecimal().unscaledValue().toByteArray());
  }

  public byte[] pack() throws java.io.IOException {
    checkSize();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    // bytes of a wide decimal do not sort as the number does, so its range is not known here
    int kind = text ? (overflow ? 4 : 3) : many != null ? many.form() : overflow ? 2 : 0;
    if (kind == 4 && wide(type)) kind = 5;
    out.writeByte(kind);
    out.writeBoolean(seenNull);
    if (many != null) {
      many.write(out, kind);
    } else if (kind == 0) {
      long[] held = longs.values();
      for (int i = 0; i < held.length; i++) out.writeLong(written(held[i]));
    } else if (kind == 2) {
      out.writeLong(written(low));
      out.writeLong(written(high));
    } else if (kind == 3) {
      Iterator each = texts.iterator();
      while (each.hasNext()) write(out, (UTF8String) each.next());
    } else if (kind == 4) {
      write(out, lowText);
      write(out, highText);
    }
    return bytes.toByteArray();
  }

  private static void write(DataOutputStream out, UTF8String value) throws java.io.IOException {
    byte[] raw = value.getBytes();
    out.writeInt(raw.length);
    out.write(raw);
  }
}
