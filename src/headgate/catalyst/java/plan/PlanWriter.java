package headgate.plan;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.build.Build;
import headgate.build.KeptRows;
import headgate.format.ScanEdit;
import headgate.format.TableFormats;
import headgate.format.ToldScan;
import headgate.interop.Json;
import headgate.interop.Seqs;
import headgate.interop.SparkVersion;
import headgate.scan.PinnedFiles;
import headgate.scan.Snapshot;
import headgate.tap.TapWriter;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;

/**
 * Writes a plan, or any subtree of it, with edits made.
 *
 * A build side is written to read the very files that were listed at planning. The whole plan is written to do so only
 * if its tables have not changed when it is executed; otherwise each edit stands aside.
 *
 * The edits are a `PlanEdits` of catalyst/wire.py: scans by node number, builds by node number, taps by join, late filters.
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
      context.late.expect(late, context.listings.snapshot());
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
    ToldScan told = scans == null ? null : ToldScan.at(plan);
    if (told != null && Json.field(scans, String.valueOf(id + told.depth)) != null) {
      at = id + told.depth + 1;
      return told.narrowed(edit(id + told.depth, Json.field(scans, String.valueOf(id + told.depth))));
    }
    JsonNode scan = scans == null ? null : Json.field(scans, String.valueOf(id));
    if (scan != null) return TableFormats.of(plan).narrow(plan, edit(id, scan));
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
    if (tap != null) return new TapWriter(context.session, context.taps).write((Join) plan, children, tap);
    return pinned.inNode(changed ? (LogicalPlan) plan.withNewChildren(Seqs.of(children)) : plan);
  }

  private ScanEdit edit(int id, JsonNode scan) {
    boolean caseSensitive = context.session.sessionState().conf().caseSensitiveAnalysis();
    return new ScanEdit(id, scan, context.listings, snapshot, context.even, context.late.source(), context.late.counts(), caseSensitive,
        context.reads);
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
}
