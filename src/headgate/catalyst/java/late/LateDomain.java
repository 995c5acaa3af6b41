package headgate.late;

import com.fasterxml.jackson.databind.JsonNode;
import headgate.interop.Json;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.roaringbitmap.RoaringBitmap;

/**
 * The values that a late filter lets through, for columns whose values are whole numbers (dates and times are, too).
 *
 * Ranges always hold, sorted and disjoint; a bitmap, where there is one, is exact. Anything that cannot be read here
 * (a bloom filter, another type) counts by its ranges or as all values: wider is safe.
 */
public class LateDomain {
  private static final long DENSE = 1L << 27;
  private final boolean nullAllowed;
  private final long[] lows;
  private final long[] highs;
  private final RoaringBitmap bits;
  private final long[] words;

  private LateDomain(boolean nullAllowed, long[] lows, long[] highs, RoaringBitmap bits) {
    this.nullAllowed = nullAllowed;
    this.lows = lows;
    this.highs = highs;
    this.bits = bits;
    this.words = bits == null ? null : wordsOf(bits);
  }

  /** Reads one column's domain as headgate.domain.codec writes it. */
  public static LateDomain read(JsonNode domain) throws java.io.IOException {
    boolean nulls = Json.field(domain, "nullAllowed").asBoolean();
    JsonNode values = Json.field(domain, "values");
    String kind = Json.field(values, "type").asText();
    if (kind.equals("none")) return new LateDomain(nulls, new long[0], new long[0], null);
    if (kind.equals("discrete")) return ofValues(nulls, Json.field(values, "values"));
    if (kind.equals("bitmap") && Json.field(values, "width").asInt() == 32) {
      RoaringBitmap loaded = new RoaringBitmap();
      loaded.deserialize(ByteBuffer.wrap(java.util.Base64.getDecoder().decode(Json.field(values, "bits").asText())));
      return ofBits(nulls, loaded);
    }
    JsonNode ranges = Json.field(values, "ranges");
    return ranges == null ? all() : ofRanges(nulls, ranges);
  }

  public static LateDomain all() {
    return new LateDomain(true, new long[] {Long.MIN_VALUE}, new long[] {Long.MAX_VALUE}, null);
  }

  /** No row at all can match: the build side was empty. */
  public static LateDomain none() { return new LateDomain(false, new long[0], new long[0], null); }

  private static LateDomain ofValues(boolean nulls, JsonNode listed) {
    long[] values = new long[listed.size()];
    boolean fits = true;
    for (int i = 0; i < values.length; i++) {
      JsonNode value = Json.item(listed, i);
      if (!value.isIntegralNumber()) return all();
      values[i] = value.asLong();
      fits = fits && values[i] >= 0L && values[i] <= 0xFFFFFFFFL;
    }
    Arrays.sort(values);
    RoaringBitmap held = null;
    if (fits && values.length > 8) {
      held = new RoaringBitmap();
      for (int i = 0; i < values.length; i++) held.add((int) values[i]);
    }
    return new LateDomain(nulls, values, values, held);
  }

  private static LateDomain ofBits(boolean nulls, RoaringBitmap held) {
    if (held.isEmpty()) return new LateDomain(nulls, new long[0], new long[0], null);
    long first = held.first() & 0xFFFFFFFFL;
    long last = held.last() & 0xFFFFFFFFL;
    return new LateDomain(nulls, new long[] {first}, new long[] {last}, held);
  }

  private static LateDomain ofRanges(boolean nulls, JsonNode ranges) {
    long[] lows = new long[ranges.size()];
    long[] highs = new long[ranges.size()];
    for (int i = 0; i < lows.length; i++) {
      lows[i] = end(Json.field(Json.item(ranges, i), "low"), Long.MIN_VALUE);
      highs[i] = end(Json.field(Json.item(ranges, i), "high"), Long.MAX_VALUE);
    }
    return new LateDomain(nulls, lows, highs, null);
  }

  private static long end(JsonNode bound, long open) {
    if (bound == null) return open;
    JsonNode value = Json.field(bound, "value");
    return value.isIntegralNumber() ? value.asLong() : open;
  }

  private static long[] wordsOf(RoaringBitmap bits) {
    // a plain array answers faster than the bitmap, and up to 16 MB it is worth its memory
    long top = bits.last() & 0xFFFFFFFFL;
    if (top >= DENSE) return null;
    long[] dense = new long[(int) (top >>> 6) + 1];
    org.roaringbitmap.IntIterator each = bits.getIntIterator();
    while (each.hasNext()) {
      long id = each.next() & 0xFFFFFFFFL;
      dense[(int) (id >>> 6)] |= 1L << (id & 63L);
    }
    return dense;
  }

  public boolean allowsNull() { return nullAllowed; }

  public boolean contains(long value) {
    if (words != null) {
      long word = value >>> 6;
      return word < words.length && (words[(int) word] >>> (value & 63L) & 1L) != 0L;
    }
    if (bits != null) return value >= 0L && value <= 0xFFFFFFFFL && bits.contains((int) value);
    int at = place(value);
    return at >= 0 && value <= highs[at];
  }

  /** Whether any value from low to high, both included, may match. */
  public boolean overlaps(long low, long high) {
    int at = place(high);
    if (at < 0 || highs[at] < low) return false;
    if (bits == null || high < 0L || low > 0xFFFFFFFFL) return true;
    long next = bits.nextValue((int) Math.max(low, 0L));
    return next >= 0L && next <= high;
  }

  /** The last range that starts at or below a value, or -1. */
  private int place(long value) {
    int found = Arrays.binarySearch(lows, value);
    return found >= 0 ? found : -found - 2;
  }
}
