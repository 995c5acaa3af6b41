package headgate.changes;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.streaming.MapState;

/**
 * How often each value of a group is there, and the least and the greatest of them.
 *
 * Both are remembered, so that the values are only looked through when one of them was taken away.
 */
class ValueCounts {
  private static final int PENDING = 4096;
  private static final int NUMBER = 2;  // bytes of the number of an input
  private final Totals totals;
  private final MapState stored;
  private final Map pending = new HashMap();  // number and code -> weight
  private final byte[][] extremes;  // of each total: a code, or null
  private long known;  // values that are kept
  private boolean lost;

  ValueCounts(Totals totals, MapState stored) {
    this.totals = totals;
    this.stored = stored;
    this.extremes = new byte[totals.each.length][];
  }

  byte[] extreme(int total) { return extremes[total]; }
  boolean areNone() { return known == 0L; }

  void add(int input, byte[] code, int weight) {
    ByteBuffer key = ByteBuffer.allocate(NUMBER + code.length);
    key.putShort((short) input).put(code).flip();
    Long before = (Long) pending.get(key);
    long after = (before == null ? 0L : before.longValue()) + weight;
    if (after == 0L) pending.remove(key);
    else pending.put(key, Long.valueOf(after));
    if (pending.size() >= PENDING) store();
  }

  /** Store what is pending, and find what is the least and the greatest now. */
  void settle() {
    store();
    if (!lost) return;
    Arrays.fill(extremes, null);
    if (known > 0L)
      for (scala.collection.Iterator all = stored.iterator(); all.hasNext();) {
        scala.Tuple2 each = (scala.Tuple2) all.next();
        if (((Long) each._2()).longValue() > 0L) consider((byte[]) each._1());
      }
    lost = false;
  }

  private void store() {
    for (Iterator all = pending.entrySet().iterator(); all.hasNext();) {
      Map.Entry each = (Map.Entry) all.next();
      byte[] key = ((ByteBuffer) each.getKey()).array();
      boolean there = stored.containsKey(key);
      long weight = (there ? ((Long) stored.getValue(key)).longValue() : 0L) + ((Long) each.getValue()).longValue();
      if (weight == 0L) stored.removeKey(key);
      else stored.updateValue(key, Long.valueOf(weight));
      known += (weight == 0L ? 0 : 1) - (there ? 1 : 0);
      if (weight > 0L) consider(key);
      else forget(key);
    }
    pending.clear();
  }

  private void consider(byte[] key) {
    int input = ByteBuffer.wrap(key).getShort();
    byte[] code = Arrays.copyOfRange(key, NUMBER, key.length);
    for (int i = 0; i < extremes.length; i++) {
      if (!isOf(i, input)) continue;
      int order = extremes[i] == null ? 0 : Arrays.compareUnsigned(code, extremes[i]);
      if (extremes[i] == null || (totals.each[i].isLeast() ? order < 0 : order > 0)) extremes[i] = code;
    }
  }

  private void forget(byte[] key) {
    int input = ByteBuffer.wrap(key).getShort();
    for (int i = 0; i < extremes.length; i++)
      if (isOf(i, input) && extremes[i] != null && Arrays.equals(extremes[i], Arrays.copyOfRange(key, NUMBER, key.length))) lost = true;
  }

  private boolean isOf(int total, int input) { return totals.each[total].isExtreme() && totals.each[total].input == input; }

  void write(DataOutputStream out) throws IOException {
    out.writeLong(known);
    for (int i = 0; i < extremes.length; i++) if (totals.each[i].isExtreme()) Bytes.write(out, extremes[i]);
  }

  void read(DataInputStream in) throws IOException {
    known = in.readLong();
    for (int i = 0; i < extremes.length; i++) if (totals.each[i].isExtreme()) extremes[i] = Bytes.read(in);
  }
}
