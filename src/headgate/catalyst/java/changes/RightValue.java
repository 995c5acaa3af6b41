package headgate.changes;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * The value that rows are compared with: what was committed, and what this epoch has brought so far.
 *
 * A changelog may hold one row at the end of an epoch, in whatever order its changes came. Of other streams the row with
 * the highest order counts, in all epochs.
 */
class RightValue {
  private static final byte[] NO_ORDER = new byte[0];  // below all others: an order may be given later
  private final String name;
  private final boolean ordered;
  private final Map rows = new HashMap();  // of a changelog: code -> how often it is there
  private final Map texts = new HashMap();  // code -> packed value, with its text, which a time zone may change
  private byte[] packed;  // of the row that counts: present, text, code; null where there is none
  private byte[] order;
  private boolean heard;
  private byte[] tied;  // another value of the same order
  private byte[] committed;

  RightValue(String name, boolean ordered) {
    this.name = name;
    this.ordered = ordered;
  }

  void take(byte kind, ByteBuffer record) {
    byte[] value = new byte[record.getInt()];
    record.get(value);
    if (kind == Change.RIGHT_LATEST) {
      byte[] at = new byte[record.remaining()];
      record.get(at);
      takeLatest(value, ordered ? at : NO_ORDER);
    } else {
      ByteBuffer key = ByteBuffer.wrap(identity(value));
      texts.put(key, value);
      Long before = (Long) rows.get(key);
      long weight = (before == null ? 0L : before.longValue()) + (kind == Change.RIGHT_IN ? 1L : -1L);
      if (weight == 0L) rows.remove(key);
      else rows.put(key, Long.valueOf(weight));
      heard = true;
    }
  }

  private void takeLatest(byte[] value, byte[] at) {
    boolean same = packed != null && Arrays.equals(identity(value), identity(packed));
    if (!ordered && heard && !same) throw tooMany(packed, value, "which of them counts is not known: give `order`, a column of the right side");
    if (ordered && order != null) {
      int compared = Arrays.compareUnsigned(at, order);
      if (compared < 0) return;
      if (compared == 0 && heard && !same) tied = packed;
      if (compared > 0) tied = null;
    }
    packed = value;
    order = at;
    heard = true;
  }

  /** Settle what this epoch has brought: a changelog must hold one row or none now. */
  void settle() {
    if (tied != null) throw tooMany(packed, tied, "and both have the same `order`");
    if (order != null || rows.isEmpty() && !heard) return;
    byte[] found = null;
    for (Iterator all = rows.entrySet().iterator(); all.hasNext();) {
      Map.Entry each = (Map.Entry) all.next();
      long weight = ((Long) each.getValue()).longValue();
      byte[] value = (byte[]) texts.get(each.getKey());
      if (weight < 0L) throw new IllegalStateException("The right side of " + name + " took away " + text(value) + ", which it did not hold.");
      if (weight > 1L || found != null) throw tooMany(found == null ? value : found, value, "it may hold one row at the end of a batch");
      found = value;
    }
    packed = found;
  }

  /** Stay where the value was if it would go down, or away. */
  void holdUp() {
    byte[] before = code(committed);
    byte[] now = code();
    if (before != null && (now == null || Arrays.compareUnsigned(now, before) < 0)) packed = committed;
  }

  private RuntimeException tooMany(byte[] one, byte[] other, String why) {
    return new IllegalStateException("The right side of " + name + " has two rows, " + text(one) + " and " + text(other) + ": " + why + ".");
  }

  /** What tells values apart: whether there is one, and its code. */
  private static byte[] identity(byte[] packed) {
    byte[] code = code(packed);
    return code == null ? new byte[] {0} : ByteBuffer.allocate(1 + code.length).put((byte) 1).put(code).array();
  }

  String text() { return packed == null ? "none" : text(packed); }
  static byte[] code(byte[] packed) { return packed == null || packed[0] == 0 ? null : Arrays.copyOfRange(packed, 5 + ByteBuffer.wrap(packed).getInt(1), packed.length); }
  byte[] code() { return code(packed); }
  static String text(byte[] packed) { return packed[0] == 0 ? "NULL" : new String(packed, 5, ByteBuffer.wrap(packed).getInt(1), StandardCharsets.UTF_8); }

  void write(DataOutputStream out) throws IOException {
    Bytes.write(out, packed);
    Bytes.write(out, order);
    out.writeInt(rows.size());
    for (Iterator all = rows.entrySet().iterator(); all.hasNext();) {
      Map.Entry each = (Map.Entry) all.next();
      Bytes.write(out, (byte[]) texts.get(each.getKey()));
      out.writeLong(((Long) each.getValue()).longValue());
    }
  }

  void read(DataInputStream in) throws IOException {
    packed = Bytes.read(in);
    order = Bytes.read(in);
    committed = packed;
    for (int i = in.readInt(); i > 0; i--) {
      byte[] value = Bytes.read(in);
      ByteBuffer key = ByteBuffer.wrap(identity(value));
      texts.put(key, value);
      rows.put(key, Long.valueOf(in.readLong()));
    }
  }
}
