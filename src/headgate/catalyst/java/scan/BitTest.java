package headgate.scan;

import headgate.interop.Seqs;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.types.DataTypes;
import org.roaringbitmap.RoaringBitmap;

/** A membership test of whole numbers in a roaring bitmap, callable from Spark's generated code. */
public class BitTest extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private static final long DENSE = 1L << 28;
  private final byte[] packed;
  private transient volatile RoaringBitmap bits;
  private transient volatile long[] words;

  public BitTest(byte[] packed) { this.packed = packed; }

  /** Ids from 0 to 2^32-1, as a portable 32-bit roaring bitmap in base64. */
  public static Expression on(Attribute column, String base64) {
    List inputs = new ArrayList();
    Expression wide = column.dataType().equals(DataTypes.LongType) ? (Expression) column
        : (Expression) new Cast(column, DataTypes.LongType, scala.Option.empty(), org.apache.spark.sql.catalyst.expressions.EvalMode$.MODULE$.LEGACY());
    inputs.add(wide);
    return new ScalaUDF(new BitTest(java.util.Base64.getDecoder().decode(base64)), DataTypes.BooleanType, Seqs.of(inputs),
        Seqs.of(new ArrayList()), scala.Option.empty(), scala.Option.apply("headgate_bits"), true, true);
  }

  public Object apply(Object key) {
    if (key == null) return null;
    long id = ((Long) key).longValue();
    if (bits == null) load();
    long[] dense = words;
    if (dense != null) {
      long word = id >>> 6;
      return word < dense.length && (dense[(int) word] >>> (id & 63L) & 1L) != 0L ? Boolean.TRUE : Boolean.FALSE;
    }
    return id >= 0L && id <= 0xFFFFFFFFL && bits.contains((int) id) ? Boolean.TRUE : Boolean.FALSE;
  }

  private synchronized void load() {
    if (bits != null) return;
    try {
      RoaringBitmap loaded = new RoaringBitmap();
      loaded.deserialize(ByteBuffer.wrap(packed));
      long top = loaded.isEmpty() ? 0L : loaded.last() & 0xFFFFFFFFL;
      // a plain array answers faster than the bitmap, and up to 32 MB it is worth its memory
      if (top < DENSE) {
        long[] dense = new long[(int) (top >>> 6) + 1];
        org.roaringbitmap.IntIterator each = loaded.getIntIterator();
        while (each.hasNext()) {
          long id = each.next() & 0xFFFFFFFFL;
          dense[(int) (id >>> 6)] |= 1L << (id & 63L);
        }
        words = dense;
      }
      bits = loaded;
    } catch (java.io.IOException damaged) {
      throw new RuntimeException(damaged);
    }
  }

  public boolean equals(Object other) { return other instanceof BitTest && java.util.Arrays.equals(((BitTest) other).packed, packed); }
  public int hashCode() { return java.util.Arrays.hashCode(packed); }
}
