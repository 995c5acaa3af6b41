package headgate.scan;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.roaringbitmap.RoaringBitmap;

/**
 * A set of whole numbers of 64 bits that grows with bounded memory.
 *
 * Ids that lie close together are kept in roaring bitmaps, one for each upper half. The others are kept one by one: a bitmap of
 * a single id takes more than a hundred bytes. Upper halves are in the order of signed numbers, which is the order of the ids.
 */
public class IdSet {
  /** Written forms: numbers one by one, a 32-bit roaring bitmap, a 64-bit one. KeyCollector has further forms. */
  public static final int NUMBERS = 0;
  public static final int BITMAP = 1;
  public static final int WIDE_BITMAP = 6;
  private static final int MOST_BITMAPS = 4096;
  private static final int WORTH_A_BITMAP = 64;
  private static final long PIECE = 1L << 22;
  private static final int FIRST_LOOK = 8192;
  private static final long LOOSE_BYTES = 16L;
  private static final long ALONE_IN_A_BITMAP = 22L;
  private static final int[] NO_HIGHS = new int[0];
  private static final RoaringBitmap[] NO_BITMAPS = new RoaringBitmap[0];
  private int[] highs = NO_HIGHS;
  private RoaringBitmap[] bitmaps = NO_BITMAPS;
  private int count;
  private int recent;
  private LongSet loose = new LongSet();
  private int nextLook = FIRST_LOOK;

  public void add(long id) {
    RoaringBitmap found = recentOr((int) (id >> 32));
    if (found != null) {
      found.add((int) id);
    } else {
      loose.add(id);
      if (loose.size() >= nextLook) condense();
    }
  }

  private RoaringBitmap recentOr(int high) {
    if (count == 0) return null;
    if (highs[recent] == high) return bitmaps[recent];
    int at = Arrays.binarySearch(highs, 0, count, high);
    if (at < 0) return null;
    recent = at;
    return bitmaps[at];
  }

  public boolean contains(long id) {
    int at = Arrays.binarySearch(highs, 0, count, (int) (id >> 32));
    return at >= 0 ? bitmaps[at].contains((int) id) : loose.contains(id);
  }

  /** Moves ids out of the loose ones where there is a bitmap for them, or enough of them to make one. */
  private void condense() {
    long[] ids = looseInOrder();
    loose = new LongSet();
    int end;
    for (int start = 0; start < ids.length; start = end) {
      int high = (int) (ids[start] >> 32);
      end = start + 1;
      while (end < ids.length && (int) (ids[end] >> 32) == high) end++;
      RoaringBitmap home = recentOr(high);
      if (home == null && end - start >= WORTH_A_BITMAP && count < MOST_BITMAPS) home = insert(high, new RoaringBitmap());
      for (int i = start; i < end; i++) {
        if (home == null) loose.add(ids[i]);
        else home.add((int) ids[i]);
      }
    }
    nextLook = Math.max(FIRST_LOOK, loose.size() * 2);
  }

  private RoaringBitmap insert(int high, RoaringBitmap bitmap) {
    int at = -Arrays.binarySearch(highs, 0, count, high) - 1;
    if (count == highs.length) {
      highs = Arrays.copyOf(highs, count * 2 + 2);
      bitmaps = (RoaringBitmap[]) Arrays.copyOf(bitmaps, count * 2 + 2);
    }
    System.arraycopy(highs, at, highs, at + 1, count - at);
    System.arraycopy(bitmaps, at, bitmaps, at + 1, count - at);
    highs[at] = high;
    bitmaps[at] = bitmap;
    count++;
    return bitmap;
  }

  /** Takes in a bitmap of ids that have one upper half; it is not copied. */
  void addAll(int high, RoaringBitmap lows) {
    RoaringBitmap mine = recentOr(high);
    if (mine != null) {
      mine.or(lows);
    } else if (lows.getLongCardinality() >= WORTH_A_BITMAP) {
      insert(high, lows);
    } else {
      org.roaringbitmap.IntIterator each = lows.getIntIterator();
      while (each.hasNext()) loose.add(id(high, each.next()));
    }
  }

  /** Takes in the ids of another set, which is not used any more. */
  public void or(IdSet other) {
    int before = count;
    for (int i = 0; i < other.count; i++) addAll(other.highs[i], other.bitmaps[i]);
    long[] ids = other.loose.values();
    for (int i = 0; i < ids.length; i++) add(ids[i]);
    if (count > before && loose.size() > 0) condense();
  }

  static long id(int high, int low) { return ((long) high << 32) | (low & 0xFFFFFFFFL); }

  public long size() {
    long found = loose.size();
    for (int i = 0; i < count; i++) found += bitmaps[i].getLongCardinality();
    return found;
  }

  /** About the bytes of memory; asking is not free. */
  public long bytes() {
    long found = loose.size() * LOOSE_BYTES;
    for (int i = 0; i < count; i++) found += bitmaps[i].getLongSizeInBytes() + 64L;
    return found;
  }

  private long[] looseInOrder() {
    long[] ids = loose.values();
    Arrays.sort(ids);
    return ids;
  }

  int bitmaps() { return count; }
  int high(int number) { return highs[number]; }
  RoaringBitmap bitmap(int number) { return bitmaps[number]; }
  long[] looseIds() { return looseInOrder(); }

  /** The smallest of the forms that can hold the ids. */
  public int form() {
    if (count == 0) return NUMBERS;
    if (count == 1 && highs[0] == 0 && loose.size() == 0) return BITMAP;
    long wide = loose.size() * ALONE_IN_A_BITMAP;
    for (int i = 0; i < count; i++) wide += bitmaps[i].serializedSizeInBytes();
    return wide <= size() * 8L ? WIDE_BITMAP : NUMBERS;
  }

  /**
   * Writes the ids in their form: big-endian numbers, or roaring's portable format, with the sign bit flipped if wide.
   *
   * The caller has asked for the form, and says it to the reader: writing makes bitmaps smaller, so a later answer may differ.
   */
  public void write(DataOutputStream out, int form) throws java.io.IOException {
    for (int i = 0; i < count; i++) bitmaps[i].runOptimize();
    if (form == BITMAP) bitmaps[0].serialize(out);
    else if (form == WIDE_BITMAP) WideBitmap.write(this, out);
    else writeNumbers(out);
  }

  /** The ids as Long; not in order. */
  public Iterator iterator() { return new IdIterator(this); }

  /** The set cut into parts of at most four million ids: each as a byte for its form, and what is written in it. */
  public List pieces() throws java.io.IOException {
    List found = new ArrayList();
    for (int i = 0; i < count; i++) {
      long last = bitmaps[i].last() & 0xFFFFFFFFL;
      for (long low = (bitmaps[i].first() & 0xFFFFFFFFL) / PIECE * PIECE; low <= last; low += PIECE) {
        RoaringBitmap part = bitmaps[i].selectRange(low, low + PIECE);
        if (part.isEmpty()) continue;
        IdSet one = new IdSet();
        one.addAll(highs[i], part);
        found.add(one.packed());
      }
    }
    long[] ids = looseInOrder();
    for (int from = 0; from < ids.length; from += (int) PIECE) {
      IdSet one = new IdSet();
      for (int i = from; i < Math.min(ids.length, from + (int) PIECE); i++) one.loose.add(ids[i]);
      found.add(one.packed());
    }
    return found;
  }

  private byte[] packed() throws java.io.IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    int form = form();
    out.writeByte(form);
    write(out, form);
    return bytes.toByteArray();
  }

  /** Reads what was written in some form. */
  public static IdSet read(int form, byte[] body) throws java.io.IOException {
    ByteBuffer from = ByteBuffer.wrap(body);
    if (form == WIDE_BITMAP) return WideBitmap.read(from);
    IdSet ids = new IdSet();
    if (form == BITMAP) {
      RoaringBitmap lows = new RoaringBitmap();
      lows.deserialize(from);
      ids.addAll(0, lows);
    } else {
      while (from.hasRemaining()) ids.add(from.getLong());
    }
    return ids;
  }

  private void writeNumbers(DataOutputStream out) throws java.io.IOException {
    long[] ids = looseInOrder();
    for (int i = 0; i < ids.length; i++) out.writeLong(ids[i]);
    for (int i = 0; i < count; i++) {
      org.roaringbitmap.IntIterator each = bitmaps[i].getIntIterator();
      while (each.hasNext()) out.writeLong(id(highs[i], each.next()));
    }
  }
}
