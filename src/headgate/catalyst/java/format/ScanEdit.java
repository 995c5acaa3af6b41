package headgate.format;

import com.fasterxml.jackson.databind.JsonNode;
import headgate.interop.Columns;
import headgate.interop.Json;
import headgate.late.LateFilterCounts;
import headgate.late.LateSource;
import headgate.late.LateTest;
import headgate.scan.EvenTasks;
import headgate.scan.FileListing;
import headgate.scan.Listings;
import headgate.scan.Narrowing;
import headgate.scan.Snapshot;
import headgate.scan.ToldReads;
import headgate.scan.ToldScans;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * What is to be made of one scan, and what that takes: the edit as `ScanEdit` in catalyst/wire.py writes it, the listings and
 * the snapshot that it rests on (null in a build side, which reads just what was listed), and the late filters of its query.
 */
public class ScanEdit {
  public final int scan;
  public final JsonNode keep;
  public final JsonNode rowGroups;
  public final JsonNode filters;
  public final JsonNode late;
  public final Listings listings;
  public final Snapshot snapshot;
  public final EvenTasks even;
  public final LateSource source;
  public final LateFilterCounts counts;
  public final boolean caseSensitive;
  private final ToldReads reads;
  private final JsonNode shown;
  private final JsonNode unreadGroups;

  public ScanEdit(int scan, JsonNode edit, Listings listings, Snapshot snapshot, EvenTasks even, LateSource source, LateFilterCounts counts,
      boolean caseSensitive, ToldReads reads) {
    this.reads = reads;
    this.scan = scan;
    this.keep = given(edit, "keep");
    this.rowGroups = given(edit, "rowGroups");
    this.filters = given(edit, "filters");
    this.late = given(edit, "late");
    this.shown = given(edit, "shown");
    this.unreadGroups = given(edit, "unreadGroups");
    this.listings = listings;
    this.snapshot = snapshot;
    this.even = even;
    this.source = source;
    this.counts = counts;
    this.caseSensitive = caseSensitive;
  }

  /** What this edit leaves out of the scan, for Spark's SQL tab; null in a build side, which is not in the plan. */
  Narrowing narrowing(FileListing listing, SparkSession session) {
    if (snapshot == null) return null;
    List filters = new ArrayList();
    for (int i = 0; shown != null && i < shown.size(); i++) filters.add(Json.item(shown, i).asText());
    HashMap unread = new HashMap();
    java.util.Iterator files = unreadGroups == null ? new ArrayList().iterator() : unreadGroups.fieldNames();
    while (files.hasNext()) {
      String number = (String) files.next();
      unread.put(listing.paths.get(Integer.parseInt(number)), Integer.valueOf(Json.field(unreadGroups, number).asInt()));
    }
    return new Narrowing(session.sparkContext(), filters, unread);
  }

  /** Asks for what the source of this scan counts while it is read through this leaf. */
  void expectTold(LogicalPlan leaf) {
    List columns = new ArrayList();
    for (int i = 0; filters != null && i < filters.size(); i++) {
      columns.add(Columns.find(leaf, Json.field(Json.item(filters, i), "column").asLong()).name());
    }
    ToldScans.expect(leaf, scan, reads, columns);
  }

  /** Notes that the source of this scan could not be told anything. */
  void noteUntold() { reads.untold(scan); }

  private static JsonNode given(JsonNode edit, String name) {
    JsonNode found = Json.field(edit, name);
    return found == null || found.isNull() ? null : found;
  }

  /** The tests of rows by filters that were there at planning, each with its column, and whether only the reader gets it. */
  public List tests(LogicalPlan scan) {
    List found = new ArrayList();
    for (int i = 0; filters != null && i < filters.size(); i++) {
      Attribute column = Columns.find(scan, Json.field(Json.item(filters, i), "column").asLong());
      found.add(new Object[] {column, Predicates.of(column, Json.item(filters, i)), Boolean.valueOf(Json.item(filters, i).has("forReader"))});
    }
    return found;
  }

  /** The tests of rows by filters that come late. */
  public List lateTests(LogicalPlan scan) {
    List found = new ArrayList();
    for (int i = 0; late != null && i < late.size(); i++) {
      JsonNode filter = Json.item(late, i);
      if (!Json.field(filter, "rows").asBoolean()) continue;
      LateTest row = new LateTest(source, Json.field(filter, "id").asText(), Json.field(filter, "number").asInt(), counts);
      found.add(LateTest.on(Columns.find(scan, Json.field(filter, "column").asLong()), row));
    }
    return found;
  }

  public static Expression and(Expression before, Expression next) { return before == null ? next : new And(before, next); }

  /** Notes the files that are kept; returns their bytes. */
  public long keptFiles(FileListing listing, HashSet kept) {
    long bytes = 0L;
    for (int i = 0; i < keep.size(); i++) {
      int number = Json.item(keep, i).asInt();
      kept.add(listing.paths.get(number));
      bytes += ((Long) listing.lengths.get(number)).longValue();
    }
    return bytes;
  }

  /** Notes the byte ranges of partly read files; returns by how much less than whole files they are. */
  public long keptRanges(FileListing listing, HashMap ranges) {
    long bytes = 0L;
    java.util.Iterator names = rowGroups == null ? new ArrayList().iterator() : rowGroups.fieldNames();
    while (names.hasNext()) {
      String number = (String) names.next();
      JsonNode listed = Json.field(rowGroups, number);
      long[] offsets = new long[listed.size()];
      long reading = 0L;
      for (int i = 0; i < offsets.length; i++) offsets[i] = Json.item(listed, i).asLong();
      for (int i = 0; i < offsets.length; i += 2) reading += offsets[i + 1] - offsets[i];
      bytes += reading - ((Long) listing.lengths.get(Integer.parseInt(number))).longValue();
      ranges.put(listing.paths.get(Integer.parseInt(number)), offsets);
    }
    return bytes;
  }
}
