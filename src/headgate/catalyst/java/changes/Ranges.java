package headgate.changes;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A set of byte strings: ranges in order, none touching the next, each from a low (included) to a high end (excluded). */
class Ranges {
  static final byte[] LOWEST = new byte[0];
  static final byte[] HIGHEST = null;
  static final Ranges NONE = new Ranges();
  static final Ranges ALL = of(LOWEST, HIGHEST);
  private final List ends = new ArrayList();  // low, high, low, high, ...

  private Ranges() {}

  static Ranges of(byte[] low, byte[] high) {
    Ranges ranges = new Ranges();
    ranges.add(low, high);
    return ranges;
  }

  int size() { return ends.size() / 2; }
  byte[] low(int i) { return (byte[]) ends.get(2 * i); }
  byte[] high(int i) { return (byte[]) ends.get(2 * i + 1); }

  boolean contains(byte[] key) {
    for (int i = 0; i < size(); i++) {
      if (Arrays.compareUnsigned(key, low(i)) < 0) return false;
      if (high(i) == HIGHEST || Arrays.compareUnsigned(key, high(i)) < 0) return true;
    }
    return false;
  }

  Ranges complement() {
    Ranges rest = new Ranges();
    byte[] from = LOWEST;
    for (int i = 0; i < size(); i++) {
      rest.add(from, low(i));
      if (high(i) == HIGHEST) return rest;
      from = high(i);
    }
    rest.add(from, HIGHEST);
    return rest;
  }

  Ranges and(Ranges other) {
    Ranges both = new Ranges();
    for (int i = 0, j = 0; i < size() && j < other.size();) {
      both.add(compareLows(low(i), other.low(j)) > 0 ? low(i) : other.low(j), least(high(i), other.high(j)));
      if (compareHighs(high(i), other.high(j)) < 0) i++;
      else j++;
    }
    return both;
  }

  Ranges minus(Ranges other) { return and(other.complement()); }
  Ranges or(Ranges other) { return complement().and(other.complement()).complement(); }
  boolean same(Ranges other) { return minus(other).size() == 0 && other.minus(this).size() == 0; }

  void write(DataOutputStream out) throws IOException {
    out.writeInt(ends.size());
    for (int i = 0; i < ends.size(); i++) Bytes.write(out, (byte[]) ends.get(i));
  }

  static Ranges read(DataInputStream in) throws IOException {
    Ranges ranges = new Ranges();
    for (int i = in.readInt(); i > 0; i--) ranges.ends.add(Bytes.read(in));
    return ranges;
  }

  static byte[] least(byte[] high, byte[] other) { return compareHighs(high, other) < 0 ? high : other; }
  private static int compareLows(byte[] a, byte[] b) { return Arrays.compareUnsigned(a, b); }

  static int compareHighs(byte[] a, byte[] b) {
    if (a == HIGHEST || b == HIGHEST) return a == b ? 0 : a == HIGHEST ? 1 : -1;
    return Arrays.compareUnsigned(a, b);
  }

  private void add(byte[] low, byte[] high) {
    if (high != HIGHEST && Arrays.compareUnsigned(low, high) >= 0) return;
    ends.add(low);
    ends.add(high);
  }
}
