package headgate.plan;

import com.fasterxml.jackson.databind.JsonNode;
import headgate.build.Build;
import headgate.build.BuildOwner;
import headgate.build.Builds;
import headgate.format.TableFormats;
import headgate.interop.Handover;
import headgate.interop.Json;
import headgate.late.LateFilterCounts;
import headgate.late.LateSource;
import headgate.late.QueryEnds;
import headgate.scan.EvenTasks;
import headgate.scan.Listings;
import headgate.scan.TailReader;
import headgate.tap.TapKeys;
import headgate.tap.Taps;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;

/** One query on its way through Headgate: its plan, its nodes by number, its file listings and its collected builds. */
public class QueryContext implements BuildOwner {
  public final SparkSession session;
  public LogicalPlan plan;
  public final Properties localProperties;
  public final List nodes = new ArrayList();
  public final Listings listings = new Listings();
  public final List builds = new ArrayList();
  public volatile Throwable cancelled;
  public final Taps taps;
  public final EvenTasks even;
  private final QueryEnds ends;
  public final Map tapped = new HashMap();
  public LateSource late;
  public LateFilterCounts lateCounts;

  public QueryContext(SparkSession session, LogicalPlan plan, Taps taps, EvenTasks even, QueryEnds ends) {
    this.ends = ends;
    this.session = session;
    this.taps = taps;
    this.even = even;
    this.plan = plan;
    this.localProperties = session.sparkContext().getLocalProperties();
  }

  public boolean isCancelled() { return cancelled != null; }
  public LogicalPlan node(int id) { return (LogicalPlan) nodes.get(id); }

  /** The plan and its settings as JSON, in one call: walking it node by node from Python is slower by far. */
  public String read() throws Exception { return Handover.of(new PlanReader(this).read()); }

  /** The files of one scan as JSON. */
  public String listFiles(int id) throws Exception {
    return Handover.of(TableFormats.of(node(id)).list(node(id), listings));
  }

  /** Why the plan ran unfiltered although it has filters, or null. */
  public String outdated() { return listings.outdated(); }

  /** Starts build sides (JSON) side by side; what they give is awaited. */
  public Builds startBuilds(String requestJson) throws Exception { return new Builds(this, requestJson); }

  public SparkSession session() { return session; }
  public Properties localProperties() { return localProperties; }
  public LogicalPlan buildSide(int node, String editsJson) throws Exception { return new PlanWriter(this, editsJson).writeBuild(node); }
  public void cancel(Throwable reason) { cancelled = reason; }

  public int keep(Build build) {
    builds.add(build);
    return builds.size() - 1;
  }

  /** The plan with all edits (JSON) made. */
  public LogicalPlan write(String editsJson) throws Exception { return new PlanWriter(this, editsJson).write(); }

  /** Makes ready for filters that arrive while the query runs; saying it again changes nothing. */
  public synchronized void expectLate(JsonNode told) {
    if (late != null) return;
    int filters = Json.field(told, "filters").asInt();
    late = new LateSource(Json.field(told, "query").asText(), Json.field(told, "url").asText(), Json.field(told, "token").asText(), filters,
        Json.field(told, "maxWaitMs").asInt(), listings.snapshot());
    ends.watch(late);
    lateCounts = new LateFilterCounts(filters);
    session.sparkContext().register(lateCounts, "headgate late filters");
  }

  /** The filters whose build sides are tapped in the plan that was written. */
  public List tappedFilters() { return new ArrayList(tapped.keySet()); }

  /** Waits for a tap; hands over what it has collected, or null when it still collects. */
  public String awaitTap(String filter, long millis) throws Exception {
    Object[] tap = (Object[]) tapped.get(filter);
    return Taps.await((TapKeys) tap[0], (java.util.concurrent.CountDownLatch) tap[1], millis);
  }

  /** Lets go of what only planning needs: collected rows may be large, and a plan that never runs must be free to go. */
  public void release() {
    plan = null;
    late = null;
    builds.clear();
    nodes.clear();
    listings.forget();
  }

  public void forgetTap(String filter) { taps.forget((TapKeys) ((Object[]) tapped.get(filter))[0]); }

  /** The share of the task slots that are idle, by Spark's own count. */
  public double idleShare() {
    org.apache.spark.SparkExecutorInfo[] executors = session.sparkContext().statusTracker().getExecutorInfos();
    int running = 0;
    for (int i = 0; i < executors.length; i++) running += executors[i].numRunningTasks();
    return Math.max(0.0d, 1.0d - running / (double) Math.max(1, session.sparkContext().defaultParallelism()));
  }

  /** What the late filters did so far, as JSON: see `LateFilterCounts.value` and `LateUnread.tell`. */
  public String tellLate() throws Exception {
    Map told = lateCounts == null ? new HashMap() : lateCounts.unread().tell();
    told.put("counts", lateCounts == null ? new ArrayList() : lateCounts.value());
    return new com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(told);
  }

  /** Lets go of what was counted file by file. */
  public void forgetUnread() { if (lateCounts != null) lateCounts.unread().clear(); }

  /** The last bytes of files, read through Spark's file systems several at a time; null where one cannot be read. */
  public List readTails(List paths, List sizes, List counts) throws Exception {
    return new TailReader(session.sessionState().newHadoopConf()).read(paths, sizes, counts);
  }

  /** One setting of the session, or null. */
  public String setting(String key) { return session.sessionState().conf().getConfString(key, null); }
}
