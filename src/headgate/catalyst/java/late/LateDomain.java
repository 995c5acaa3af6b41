package headgate.late;

import com.fasterxml.jackson.databind.JsonNode;
import headgate.interop.Json;
import headgate.scan.FixedIds;
import headgate.scan.IdSet;
import java.util.Arrays;

/**
 * The values that a late filter lets through, for columns whose values are whole numbers (dates and times are, too).
 *
 * Ranges always hold, sorted and disjoint; a bitmap, where there is one, is exact. Anything that cannot be read here
 * (a bloom filter, another type) counts by its ranges or as all values: wider is safe.
 */
public class LateDomain {
  private final boolean nullAllowed;
  private final long[] lows;
  private final long[] highs;
  private final FixedIds ids;

  private LateDomain(boolean nullAllowed, long[] lows, long[] highs, FixedIds ids) {
    this.nullAllowed = nullAllowed;
    this.lows = lows;
    this.highs = highs;
    this.ids = ids;
  }

  /** Reads one column's domain as headgate.domain.codec writes it. */
  public static LateDomain read(JsonNode domain) throws java.io.IOException {
    boolean nulls = Json.field(domain, "nullAllowed").asBoolean();
    JsonNode values = Json.field(domain, "values");
    String kind = Json.field(values, "type").asText();
    if (kind.equals("none")) return new LateDomain(nulls, new long[0], new long[0], null);
    if (kind.equals("discrete")) return ofValues(nulls, Json.field(values, "values"));
    if (kind.equals("bitmap")) {
      byte[] packed = java.util.Base64.getDecoder().decode(Json.field(values, "bits").asText());
      return ofIds(nulls, FixedIds.read(packed, Json.field(values, "width").asInt()));
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
    IdSet held = new IdSet();
    for (int i = 0; i < values.length; i++) {
      JsonNode value = Json.item(listed, i);
      if (!value.isIntegralNumber()) return all();
      values[i] = value.asLong();
      held.add(values[i]);
    }
    Arrays.sort(values);
    return new LateDomain(nulls, values, values, values.length > 8 ? new FixedIds(held) : null);
  }

  private static LateDomain ofIds(boolean nulls, FixedIds held) {
    if (held.isEmpty()) return new LateDomain(nulls, new long[0], new long[0], null);
    return new LateDomain(nulls, new long[] {held.first()}, new long[] {held.last()}, held);
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

  public boolean allowsNull() { return nullAllowed; }

  public boolean contains(long value) {
    if (ids != null) return ids.contains(value);
    int at = place(value);
    return at >= 0 && value <= highs[at];
  }

  /** Whether any value from low to high, both included, may match. */
  public boolean overlaps(long low, long high) {
    int at = place(high);
    if (at < 0 || highs[at] < low) return false;
    return ids == null || ids.overlaps(low, high);
  }

  /** The last range that starts at or below a value, or -1. */
  private int place(long value) {
    int found = Arrays.binarySearch(lows, value);
    return found >= 0 ? found : -found - 2;
  }
}
