package headgate.plan;

import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.build.Build;
import headgate.build.BuildOwner;
import headgate.build.Builds;
import headgate.format.TableFormats;
import headgate.interop.Handover;
import headgate.interop.ListenerBus;
import headgate.interop.SessionResources;
import headgate.late.QueryEnds;
import headgate.late.QueryLate;
import headgate.scan.EvenTasks;
import headgate.scan.KnownFiles;
import headgate.scan.Listings;
import headgate.scan.OrcFooters;
import headgate.scan.TailReader;
import headgate.scan.ToldReads;
import headgate.tap.QueryTaps;
import headgate.tap.Taps;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** One query on its way through Headgate: its plan, its nodes by number, its file listings and its collected builds. */
public class QueryContext implements BuildOwner {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  public final SparkSession session;
  public LogicalPlan plan;
  public final Properties localProperties;
  private final boolean ownResources = SessionResources.areOwn();
  public final List nodes = new ArrayList();
  public final Listings listings;
  public final List builds = new ArrayList();
  public volatile Throwable cancelled;
  public final EvenTasks even;
  public final QueryTaps taps;
  public final QueryLate late;
  public final ToldReads reads = new ToldReads();
  /** What the scans of build sides have read. */
  private final List built = new ArrayList();
  /** The query's number among all of the session; a subquery has that of the whole. */
  volatile long number;

  public QueryContext(SparkSession session, LogicalPlan plan, Taps taps, EvenTasks even, QueryEnds ends) {
    this.session = session;
    this.listings = new Listings(session);
    this.taps = new QueryTaps(taps);
    this.late = new QueryLate(session, ends);
    this.even = even;
    this.plan = plan;
    this.localProperties = session.sparkContext().getLocalProperties();
  }

  public long number() { return number; }
  public boolean isCancelled() { return cancelled != null; }
  public QueryTaps taps() { return taps; }
  public QueryLate late() { return late; }
  LogicalPlan node(int id) { return (LogicalPlan) nodes.get(id); }

  /** The plan and its settings as JSON, in one call: walking it node by node from Python is slower by far. */
  public String read() throws Exception { return Handover.of(new PlanReader(this).read()); }

  /** The files of one scan as JSON. */
  public String listFiles(int id) throws Exception {
    return Handover.of(TableFormats.of(node(id)).list(node(id), listings));
  }

  /** What showed when the plan was executed, as JSON: `Executed` in catalyst/wire.py. */
  public String executed() throws Exception {
    if (reads.isMissing()) ListenerBus.await(session.sparkContext(), 5000L);
    Map document = new LinkedHashMap();
    if (listings.outdated() != null) document.put("outdated", listings.outdated());
    document.put("scans", reads.counts());
    document.put("untold", reads.untold());
    synchronized (built) {
      document.put("built", new ArrayList(built));
    }
    return MAPPER.writeValueAsString(document);
  }

  /** Starts build sides (JSON) side by side; what they give is awaited. */
  public Builds startBuilds(String requestJson) throws Exception { return new Builds(this, requestJson); }

  public SparkSession session() { return session; }
  public Properties localProperties() { return localProperties; }
  public boolean hasOwnResources() { return ownResources; }
  public LogicalPlan buildSide(int node, String editsJson) throws Exception { return new PlanWriter(this, editsJson).writeBuild(node); }
  public void cancel(Throwable reason) { cancelled = reason; }

  public int keep(Build build) {
    builds.add(build);
    synchronized (built) {
      built.addAll(build.reads);
    }
    return builds.size() - 1;
  }

  /** The plan with all edits (JSON) made. */
  public LogicalPlan write(String editsJson) throws Exception { return new PlanWriter(this, editsJson).write(); }

  /** Lets go of what only planning needs: collected rows may be large, and a plan that never runs must be free to go. */
  public void release() {
    plan = null;
    late.release();
    builds.clear();
    nodes.clear();
    listings.forget();
  }

  /** What ORC files of a scan say of some columns, as JSON. */
  public String readOrc(int scan, List paths, List sizes, List names, List types, boolean caseSensitive) throws Exception {
    HadoopFsRelation files = KnownFiles.of(node(scan));
    Configuration conf = session.sessionState().newHadoopConfWithOptions(files.options());
    return Handover.of(new OrcFooters(conf, names, types, caseSensitive).read(paths, sizes));
  }

  /** The last bytes of files, read through Spark's file systems several at a time; null where one cannot be read. */
  public List readTails(List paths, List sizes, List counts) throws Exception {
    return new TailReader(session.sessionState().newHadoopConf()).read(paths, sizes, counts);
  }
}
