package headgate.changes;

import java.util.Arrays;

/** A row and how often it is there; below zero, how often it was taken away. */
class Weighted implements Comparable {
  final byte[] key;
  final long prefix;
  int weight;

  Weighted(byte[] key, int weight) {
    this.key = key;
    this.weight = weight;
    this.prefix = prefix(key);
  }

  public int compareTo(Object other) {
    Weighted that = (Weighted) other;
    if (prefix != that.prefix) return prefix < that.prefix ? -1 : 1;
    return Arrays.compareUnsigned(key, that.key);
  }

  boolean sameRow(Weighted that) { return prefix == that.prefix && Arrays.equals(key, that.key); }

  /** The first eight bytes as a signed number of the same order: most comparisons end here. */
  private static long prefix(byte[] key) {
    long word = 0L;
    for (int i = 0; i < 8; i++) word = (word << 8) | (i < key.length ? key[i] & 0xffL : 0L);
    return word ^ Long.MIN_VALUE;
  }
}
