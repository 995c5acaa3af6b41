package headgate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Writes a plan, or any subtree of it, with edits made.
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
  private int at;

  public PlanWriter(QueryContext context, String editsJson) throws Exception {
    this.context = context;
    JsonNode edits = MAPPER.readTree(editsJson);
    this.scans = Json.field(edits, "scans");
    this.builds = Json.field(edits, "builds");
    this.taps = Json.field(edits, "taps");
    if (edits.has("late")) context.expectLate(Json.field(edits, "late"));
  }

  /** Returns the subtree that was read as number `id`, edited. */
  public LogicalPlan write(int id) {
    at = id;
    return rebuild();
  }

  /** Nodes were numbered in pre-order, so walking in pre-order counts them again. */
  private LogicalPlan rebuild() {
    int id = at++;
    LogicalPlan plan = context.node(id);
    JsonNode build = builds == null ? null : Json.field(builds, String.valueOf(id));
    if (build != null) {
      at = id + count(plan);
      Build collected = (Build) context.builds.get(build.asInt());
      return new LocalRelation(plan.output(), Seqs.of(collected.rows), false, scala.Option.empty());
    }
    JsonNode scan = scans == null ? null : Json.field(scans, String.valueOf(id));
    if (scan != null) return narrowed(id, (LogicalPlan) plan, scan);
    List children = new ArrayList();
    boolean changed = false;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) {
      LogicalPlan child = (LogicalPlan) each.next();
      LogicalPlan fresh = rebuild();
      changed = changed || fresh != child;
      children.add(fresh);
    }
    JsonNode tap = taps == null ? null : Json.field(taps, String.valueOf(id));
    if (tap != null) return new TapWriter(context).write((Join) plan, children, tap);
    return changed ? (LogicalPlan) plan.withNewChildren(Seqs.of(children)) : plan;
  }

  private static int count(LogicalPlan plan) {
    int total = 1;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) total += count((LogicalPlan) each.next());
    return total;
  }

  private LogicalPlan narrowed(int id, LogicalPlan plan, JsonNode edit) {
    LogicalPlan result = plan;
    JsonNode keep = Json.field(edit, "keep");
    JsonNode late = Json.field(edit, "late");
    if (keep != null && !keep.isNull() || late != null) {
      result = onlyFiles(id, (LogicalRelation) plan, context.listing(id), keep, Json.field(edit, "rowGroups"), late);
    }
    Expression condition = null;
    JsonNode filters = Json.field(edit, "filters");
    for (int i = 0; filters != null && i < filters.size(); i++) {
      Expression test = Predicates.of(column(plan, Json.field(Json.item(filters, i), "column").asLong()), Json.item(filters, i));
      condition = condition == null ? test : new And(condition, test);
    }
    for (int i = 0; late != null && i < late.size(); i++) {
      JsonNode filter = Json.item(late, i);
      if (!Json.field(filter, "rows").asBoolean()) continue;
      LateTest row = new LateTest(context.late, Json.field(filter, "id").asText(), Json.field(filter, "number").asInt(), context.lateCounts);
      Expression test = LateTest.on(column(plan, Json.field(filter, "column").asLong()), row);
      condition = condition == null ? test : new And(condition, test);
    }
    return condition == null ? result : new Filter(condition, result);
  }

  static Attribute column(LogicalPlan plan, long id) {
    scala.collection.Iterator each = plan.output().iterator();
    while (each.hasNext()) {
      Attribute attribute = (Attribute) each.next();
      if (attribute.exprId().id() == id) return attribute;
    }
    throw new IllegalArgumentException("no column #" + id + " in " + plan.nodeName());
  }

  private LogicalRelation onlyFiles(int id, LogicalRelation plan, FileListing listing, JsonNode keep, JsonNode rowGroups, JsonNode late) {
    HadoopFsRelation files = listing.relation;
    HashMap ranges = new HashMap();
    FileIndex location = files.location();
    org.apache.spark.sql.SparkSession session = files.sparkSession();
    if (keep != null && !keep.isNull()) {
      HashSet kept = new HashSet();
      long whole = keptFiles(listing, keep, kept);
      location = new PrunedFileIndex(files.location(), kept, Math.max(whole + keptRanges(listing, rowGroups, ranges), 0L));
      session = context.even.of(session, whole);
    }
    FileFormat format = files.fileFormat();
    if (late != null) format = new GatedParquet(ranges, context.late, gateFilters(plan, files, late), context.lateCounts, id);
    else if (!ranges.isEmpty()) format = new PrunedParquet(ranges);
    HadoopFsRelation pruned = new HadoopFsRelation(location, files.partitionSchema(), files.dataSchema(), files.bucketSpec(),
        format, files.options(), session);
    LogicalRelation result = new LogicalRelation(pruned, plan.output(), plan.catalogTable(), plan.isStreaming(), plan.stream());
    result.copyTagsFrom(plan);
    return result;
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

  private static GateFilter[] gateFilters(LogicalRelation plan, HadoopFsRelation files, JsonNode late) {
    GateFilter[] found = new GateFilter[late.size()];
    String[] partitions = files.partitionSchema().fieldNames();
    for (int i = 0; i < found.length; i++) {
      JsonNode filter = Json.item(late, i);
      Attribute column = column(plan, Json.field(filter, "column").asLong());
      int partition = -1;
      for (int p = 0; p < partitions.length; p++) if (partitions[p].equals(column.name())) partition = p;
      found[i] = new GateFilter(Json.field(filter, "id").asText(), Json.field(filter, "number").asInt(), column.name(),
          column.dataType(), partition);
    }
    return found;
  }
}
