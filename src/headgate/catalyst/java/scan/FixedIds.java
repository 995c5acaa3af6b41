package headgate.scan;

import java.util.Arrays;

/** A set of ids that no longer changes, made to be asked often, by several threads. */
public class FixedIds {
  private static final long MOST_WORDS = 1L << 22;
  private static final long FREE_WORDS = 1L << 17;
  private final IdSet ids;
  private final long[] loose;
  private final long first;
  private final long last;
  private final long[] words;

  public FixedIds(IdSet ids) {
    this.ids = ids;
    this.loose = ids.looseIds();
    long low = loose.length == 0 ? Long.MAX_VALUE : loose[0];
    long high = loose.length == 0 ? Long.MIN_VALUE : loose[loose.length - 1];
    if (ids.bitmaps() > 0) {
      int top = ids.bitmaps() - 1;
      low = Math.min(low, IdSet.id(ids.high(0), ids.bitmap(0).first()));
      high = Math.max(high, IdSet.id(ids.high(top), ids.bitmap(top).last()));
    }
    this.first = low;
    this.last = high;
    this.words = isEmpty() ? null : wordsOf();
  }

  /** Reads a bitmap in roaring's portable format: 32 bits wide, or 64 with the sign bit flipped. */
  public static FixedIds read(byte[] packed, int width) throws java.io.IOException {
    return new FixedIds(IdSet.read(width == 64 ? IdSet.WIDE_BITMAP : IdSet.BITMAP, packed));
  }

  /** A plain array answers faster than bitmaps do, where it costs little memory or is not much larger than they are. */
  private long[] wordsOf() {
    long span = last - first;
    long needed = (span >>> 6) + 1L;
    if (span < 0L || needed > MOST_WORDS || needed > FREE_WORDS && needed > ids.size() * 2L) return null;
    long[] found = new long[(int) needed];
    for (int i = 0; i < loose.length; i++) set(found, loose[i]);
    for (int i = 0; i < ids.bitmaps(); i++) {
      org.roaringbitmap.IntIterator each = ids.bitmap(i).getIntIterator();
      while (each.hasNext()) set(found, IdSet.id(ids.high(i), each.next()));
    }
    return found;
  }

  private void set(long[] found, long id) { found[(int) ((id - first) >>> 6)] |= 1L << ((id - first) & 63L); }

  public boolean isEmpty() { return first > last; }
  public long first() { return first; }
  public long last() { return last; }

  public boolean contains(long id) {
    if (id < first || id > last) return false;
    if (words == null) return ids.contains(id);
    long at = id - first;
    return (words[(int) (at >>> 6)] >>> (at & 63L) & 1L) != 0L;
  }

  /** Whether an id lies from low to high, both included. */
  public boolean overlaps(long low, long high) {
    if (low > high || high < first || low > last) return false;
    int at = Arrays.binarySearch(loose, low);
    if (at < 0) at = -at - 1;
    if (at < loose.length && loose[at] <= high) return true;
    for (int i = 0; i < ids.bitmaps(); i++) {
      long floor = (long) ids.high(i) << 32;
      if (floor > high) return false;
      if (floor + 0xFFFFFFFFL < low) continue;
      long next = ids.bitmap(i).nextValue(low <= floor ? 0 : (int) (low - floor));
      if (next >= 0L && floor + next <= high) return true;
    }
    return false;
  }
}
