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
 * Both are remembered, so that the values are only looked through when one of them was taken away. A few values lie with
 * the totals of the group, which are read and written anyway; more have a map of their own.
 */
class ValueCounts {
  private static final int PENDING = 4096;
  private static final int NEAR = 64;  // values, and
  private static final int NEAR_BYTES = 2048;
  private static final int NUMBER = 2;  // bytes of the number of an input
  private final Totals totals;
  private final MapState stored;
  private final Map pending = new HashMap();  // number and code -> weight
  private final byte[][] extremes;  // of each total: a code, or null
  private Map near = new HashMap();  // number and code -> weight; null when all are stored in the map
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
    if (near == null) considerStored();
    else for (Iterator all = near.entrySet().iterator(); all.hasNext();) {
      Map.Entry each = (Map.Entry) all.next();
      if (((Long) each.getValue()).longValue() > 0L) consider(((ByteBuffer) each.getKey()).array());
    }
    lost = false;
  }

  private void considerStored() {
    for (scala.collection.Iterator all = stored.iterator(); all.hasNext();) {
      scala.Tuple2 each = (scala.Tuple2) all.next();
      if (((Long) each._2()).longValue() > 0L) consider((byte[]) each._1());
    }
  }

  private void store() {
    for (Iterator all = pending.entrySet().iterator(); all.hasNext();) {
      Map.Entry each = (Map.Entry) all.next();
      ByteBuffer key = (ByteBuffer) each.getKey();
      Long before = (Long) (near == null ? stored.getValue(key.array()) : near.get(key));
      long weight = (before == null ? 0L : before.longValue()) + ((Long) each.getValue()).longValue();
      known += (weight == 0L ? 0 : 1) - (before == null ? 0 : 1);
      put(key, weight);
      if (weight > 0L) consider(key.array());
      else forget(key.array());
    }
    pending.clear();
    if (near != null && isTooMuch()) moveAway();
    if (near == null && known == 0L) near = new HashMap();
  }

  private void put(ByteBuffer key, long weight) {
    if (near == null && weight == 0L) stored.removeKey(key.array());
    else if (near == null) stored.updateValue(key.array(), Long.valueOf(weight));
    else if (weight == 0L) near.remove(key);
    else near.put(key, Long.valueOf(weight));
  }

  private boolean isTooMuch() {
    if (near.size() > NEAR) return true;
    int bytes = 0;
    for (Iterator all = near.keySet().iterator(); all.hasNext();) bytes += ((ByteBuffer) all.next()).capacity();
    return bytes > NEAR_BYTES;
  }

  private void moveAway() {
    for (Iterator all = near.entrySet().iterator(); all.hasNext();) {
      Map.Entry each = (Map.Entry) all.next();
      stored.updateValue(((ByteBuffer) each.getKey()).array(), each.getValue());
    }
    near = null;
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
    out.writeBoolean(near != null);
    if (near == null) return;
    for (Iterator all = near.entrySet().iterator(); all.hasNext();) {
      Map.Entry each = (Map.Entry) all.next();
      Bytes.write(out, ((ByteBuffer) each.getKey()).array());
      out.writeLong(((Long) each.getValue()).longValue());
    }
  }

  void read(DataInputStream in) throws IOException {
    known = in.readLong();
    for (int i = 0; i < extremes.length; i++) if (totals.each[i].isExtreme()) extremes[i] = Bytes.read(in);
    if (!in.readBoolean()) near = null;
    else for (long i = 0L; i < known; i++) near.put(ByteBuffer.wrap(Bytes.read(in)), Long.valueOf(in.readLong()));
  }
}
