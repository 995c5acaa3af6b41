package headgate.plan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.build.Build;
import headgate.build.KeptRows;
import headgate.interop.Columns;
import headgate.interop.Json;
import headgate.interop.Seqs;
import headgate.interop.SparkVersion;
import headgate.late.GateFilter;
import headgate.late.GatedParquet;
import headgate.late.LateTest;
import headgate.scan.FileListing;
import headgate.scan.KnownFiles;
import headgate.scan.PinnedFiles;
import headgate.scan.PrunedFileIndex;
import headgate.scan.PrunedParquet;
import headgate.scan.Snapshot;
import headgate.scan.SnapshotTest;
import headgate.tap.TapWriter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.DataSourceUtils$;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.ShortType;

/**
 * Writes a plan, or any subtree of it, with edits made.
 *
 * A build side is written to read the very files that were listed at planning. The whole plan is written to do so only
 * if its tables have not changed when it is executed; otherwise each edit stands aside.
 *
 * edits: {"scans": {id: {"keep": [file numbers] or null, "rowGroups": {file number: [start, end, ...]},
 *                        "filters": [{"column": expression id, ...}],
 *                        "late": [{"id": ..., "number": ..., "column": expression id, "rows": true or false}]}},
 *         "builds": {id: number of a collected build},
 *         "taps": {id of a join: {"side": 0 or 1, "keys": [expression ids of the side's join keys], "maxDistinct": ...,
 *                                 "maxBytes": ..., "filters": [{"id": ..., "column": expression id}]}},
 *         "late": {"query": ..., "url": ..., "token": ..., "filters": how many}}
 */
public class PlanWriter {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private final QueryContext context;
  private final JsonNode scans;
  private final JsonNode builds;
  private final JsonNode taps;
  private final JsonNode late;
  /** Equal build sides with equal rows stay equal, so that Spark runs what follows them once. */
  private final List keptRows = new ArrayList();
  private Snapshot snapshot;
  private int at;

  public PlanWriter(QueryContext context, String editsJson) throws Exception {
    this.context = context;
    JsonNode edits = MAPPER.readTree(editsJson);
    this.scans = Json.field(edits, "scans");
    this.builds = Json.field(edits, "builds");
    this.taps = Json.field(edits, "taps");
    this.late = Json.field(edits, "late");
  }

  /** Returns the build side that was read as number `id`, edited. */
  public LogicalPlan writeBuild(int id) throws Exception {
    at = id;
    return rebuild();
  }

  /** Returns the whole plan, edited. */
  public LogicalPlan write() throws Exception {
    if (late != null) {
      // builds that are still to run must read what this plan depends on
      new PinnedFiles(context.listings, null).listAll(context.plan);
      context.expectLate(late);
    }
    snapshot = context.listings.snapshot();
    at = 0;
    return rebuild();
  }

  /** Nodes were numbered in pre-order, so walking in pre-order counts them again. */
  private LogicalPlan rebuild() throws Exception {
    int id = at++;
    LogicalPlan plan = context.node(id);
    JsonNode build = builds == null ? null : Json.field(builds, String.valueOf(id));
    if (build != null) {
      at = id + count(plan);
      Build collected = (Build) context.builds.get(build.asInt());
      return kept(plan, collected);
    }
    JsonNode scan = scans == null ? null : Json.field(scans, String.valueOf(id));
    if (scan != null) return narrowed(id, plan, scan);
    List children = new ArrayList();
    boolean changed = false;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) {
      LogicalPlan child = (LogicalPlan) each.next();
      LogicalPlan fresh = rebuild();
      changed = changed || fresh != child;
      children.add(fresh);
    }
    PinnedFiles pinned = new PinnedFiles(context.listings, snapshot);
    if (children.isEmpty()) return pinned.leaf(plan);
    JsonNode tap = taps == null ? null : Json.field(taps, String.valueOf(id));
    if (tap != null) return new TapWriter(context.session, context.taps, context.tapped).write((Join) plan, children, tap);
    return pinned.inNode(changed ? (LogicalPlan) plan.withNewChildren(Seqs.of(children)) : plan);
  }

  /** The rows of a build side in its place. */
  private LogicalPlan kept(LogicalPlan plan, Build collected) throws Exception {
    LocalRelation rows = new LocalRelation(plan.output(), Seqs.of(collected.rows), false, scala.Option.empty());
    if (snapshot == null) return rows;
    KeptRows shared = null;
    for (int i = 0; i < keptRows.size() && shared == null; i++) {
      KeptRows other = (KeptRows) keptRows.get(i);
      if (other.isSame(collected.rows, plan)) shared = other;
    }
    if (shared == null) {
      shared = new KeptRows(context.session, snapshot, collected.rows, plan);
      keptRows.add(shared);
    }
    return SparkVersion.logicalRdd(plan.output(), shared, new UnknownPartitioning(0), Seqs.of(new ArrayList()), context.session,
        scala.Option.apply(rows.stats()));
  }

  private static int count(LogicalPlan plan) {
    int total = 1;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) total += count((LogicalPlan) each.next());
    return total;
  }

  private LogicalPlan narrowed(int id, LogicalPlan plan, JsonNode edit) {
    JsonNode keep = Json.field(edit, "keep");
    JsonNode late = Json.field(edit, "late");
    JsonNode filters = Json.field(edit, "filters");
    List conditions = new ArrayList();
    Expression test = null;
    for (int i = 0; filters != null && i < filters.size(); i++) {
      Attribute column = Columns.find(plan, Json.field(Json.item(filters, i), "column").asLong());
      Expression one = Predicates.of(column, Json.item(filters, i));
      test = and(test, snapshot == null ? one : whileCurrent(plan, column, one, conditions));
    }
    for (int i = 0; late != null && i < late.size(); i++) {
      JsonNode filter = Json.item(late, i);
      if (!Json.field(filter, "rows").asBoolean()) continue;
      LateTest row = new LateTest(context.late, Json.field(filter, "id").asText(), Json.field(filter, "number").asInt(), context.lateCounts);
      test = and(test, LateTest.on(Columns.find(plan, Json.field(filter, "column").asLong()), row));
    }
    boolean files = (keep != null && !keep.isNull()) || late != null || !conditions.isEmpty();
    LogicalPlan result = files ? onlyFiles(id, (LogicalRelation) plan, edit, conditions) : new PinnedFiles(context.listings, snapshot).leaf(plan);
    return test == null ? result : new Filter(test, result);
  }

  private static Expression and(Expression before, Expression next) { return before == null ? next : new And(before, next); }

  /** The test as long as the tables are what they were; then the reader is also told of it, as Spark would tell it. */
  private Expression whileCurrent(LogicalPlan plan, Attribute column, Expression test, List conditions) {
    HadoopFsRelation files = KnownFiles.of(plan);
    // the reader finds the column of a condition by its name, and judges it by the file's own numbers: where they are wider
    // than the column's they are cut off when they are read
    boolean cutOff = column.dataType() instanceof ByteType || column.dataType() instanceof ShortType;
    boolean inFolders = files.partitionSchema().getFieldIndex(column.name()).isDefined();
    if (!inFolders && !cutOff && !KnownFiles.isByFieldId(files)) {
      scala.Option pushed = DataSourceStrategy$.MODULE$.translateFilter(test, DataSourceUtils$.MODULE$.supportNestedPredicatePushdown(files));
      if (pushed.isDefined()) conditions.add(pushed.get());
    }
    return SnapshotTest.orElse(snapshot, column, test);
  }

  private LogicalRelation onlyFiles(int id, LogicalRelation plan, JsonNode edit, List conditions) {
    HadoopFsRelation files = KnownFiles.of(plan);
    FileListing listing = context.listings.of(files);
    JsonNode keep = Json.field(edit, "keep");
    JsonNode late = Json.field(edit, "late");
    HashMap ranges = new HashMap();
    org.apache.spark.sql.SparkSession session = files.sparkSession();
    HashSet kept = null;
    long bytes = files.location().sizeInBytes();
    if (keep != null && !keep.isNull()) {
      kept = new HashSet();
      long whole = keptFiles(listing, keep, kept);
      bytes = Math.max(whole + keptRanges(listing, Json.field(edit, "rowGroups"), ranges), 0L);
      session = context.even.of(session, whole);
    }
    FileFormat format = files.fileFormat();
    if (late != null) format = new GatedParquet(ranges, conditions, snapshot, context.late, gateFilters(plan, files, late), context.lateCounts, id);
    else if (!ranges.isEmpty() || !conditions.isEmpty()) format = new PrunedParquet(ranges, conditions, snapshot);
    return PinnedFiles.over(plan, new PrunedFileIndex(listing, kept, bytes, snapshot), format, session);
  }

  private static long keptFiles(FileListing listing, JsonNode keep, HashSet kept) {
    long bytes = 0L;
    for (int i = 0; i < keep.size(); i++) {
      int number = Json.item(keep, i).asInt();
      kept.add(listing.paths.get(number));
      bytes += ((Long) listing.lengths.get(number)).longValue();
    }
    return bytes;
  }

  /** Notes the byte ranges of partly read files; returns by how much less than whole files they are. */
  private static long keptRanges(FileListing listing, JsonNode rowGroups, HashMap ranges) {
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

  private GateFilter[] gateFilters(LogicalRelation plan, HadoopFsRelation files, JsonNode late) {
    GateFilter[] found = new GateFilter[late.size()];
    String[] partitions = files.partitionSchema().fieldNames();
    for (int i = 0; i < found.length; i++) {
      JsonNode filter = Json.item(late, i);
      Attribute column = Columns.find(plan, Json.field(filter, "column").asLong());
      int partition = -1;
      for (int p = 0; p < partitions.length; p++) if (partitions[p].equals(column.name())) partition = p;
      found[i] = new GateFilter(Json.field(filter, "id").asText(), Json.field(filter, "number").asInt(), column.name(),
          column.dataType(), partition, context.session.sessionState().conf().caseSensitiveAnalysis());
    }
    return found;
  }
}
