package headgate.plan;

import headgate.interop.Seqs;
import headgate.late.GatedParquet;
import headgate.scan.Narrowing;
import headgate.scan.PlanLeaves;
import headgate.scan.PrunedFileIndex;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlanInfo;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetricInfo;
import org.apache.spark.sql.execution.ui.SQLAppStatusListener;
import org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates;
import org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/**
 * Shows in Spark's SQL tab what filters left out of each scan, as metrics of the scan.
 *
 * The metrics of a scan are fixed by Spark, and its plan is not to be touched. But the tab draws what events tell it: so the
 * plan of each event is told once more, with the metrics added, in the same thread and directly after Spark's own listener
 * had it. No query, no plan and no event log knows of this; a failure costs the metrics.
 */
public class SqlTab extends SparkListener {
  private static final int MOST = 1000;
  private static SparkContext installed;
  private final SQLAppStatusListener tab;
  /** Narrowed scans by the id of Spark's own metric of their rows: it is the same wherever a scan is told of. */
  private final LinkedHashMap known = new LinkedHashMap();
  /** Running queries with narrowed scans, by number: what has been told of each scan. */
  private final Map open = new HashMap();
  private final Map jobs = new HashMap();

  private SqlTab(SQLAppStatusListener tab) { this.tab = tab; }

  /** Once for each application; it stays when a gate is closed, as plans that were made with it may still run. */
  public static synchronized void install(SparkSession session) {
    SparkContext context = session.sparkContext();
    scala.Option tab = session.sharedState().statusStore().listener();
    if (installed == context || tab.isEmpty()) return;
    installed = context;
    context.listenerBus().addToStatusQueue(new SqlTab((SQLAppStatusListener) tab.get()));
  }

  public void onOtherEvent(SparkListenerEvent event) {
    try {
      if (event instanceof SparkListenerSQLExecutionStart) {
        SparkListenerSQLExecutionStart start = (SparkListenerSQLExecutionStart) event;
        show(start.executionId(), start.physicalPlanDescription(), start.sparkPlanInfo());
      } else if (event instanceof SparkListenerSQLAdaptiveExecutionUpdate) {
        SparkListenerSQLAdaptiveExecutionUpdate update = (SparkListenerSQLAdaptiveExecutionUpdate) event;
        show(update.executionId(), update.physicalPlanDescription(), update.sparkPlanInfo());
      } else if (event instanceof SparkListenerDriverAccumUpdates) {
        // a scan that has listed its files says so; one that is left with none has no job that could end
        tell(Long.valueOf(((SparkListenerDriverAccumUpdates) event).executionId()));
      } else if (event instanceof SparkListenerSQLExecutionEnd) {
        long number = ((SparkListenerSQLExecutionEnd) event).executionId();
        open.remove(Long.valueOf(number));
        jobs.values().removeAll(java.util.Collections.singleton(Long.valueOf(number)));
        Narrowing.forget(number);
      }
    } catch (Throwable untold) {
      return;
    }
  }

  public void onJobStart(SparkListenerJobStart event) {
    String number = open.isEmpty() ? null : event.properties().getProperty("spark.sql.execution.id");
    if (number != null && open.containsKey(Long.valueOf(number))) jobs.put(Integer.valueOf(event.jobId()), Long.valueOf(number));
  }

  public void onJobEnd(SparkListenerJobEnd event) {
    Long number = (Long) jobs.remove(Integer.valueOf(event.jobId()));
    try {
      if (number != null) tell(number);
    } catch (Throwable untold) {
      return;
    }
  }

  private void show(long number, String description, SparkPlanInfo plan) {
    if (!mentions(plan)) return;
    boolean[] changed = new boolean[1];
    Map told = (Map) open.get(Long.valueOf(number));
    if (told == null) told = new HashMap();
    learn(Narrowing.query(number), told);
    SparkPlanInfo shown = with(plan, told, changed);
    if (!changed[0]) return;
    open.put(Long.valueOf(number), told);
    tab.onOtherEvent(new SparkListenerSQLAdaptiveExecutionUpdate(number, description, shown));
  }

  private static boolean mentions(SparkPlanInfo plan) {
    scala.Option location = plan.metadata().get("Location");
    if (location.isDefined() && ((String) location.get()).startsWith("PrunedFileIndex")) return true;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (mentions((SparkPlanInfo) each.next())) return true;
    return false;
  }

  /** Finds the narrowed scans of a query; those that are new have been run by no other. */
  private void learn(QueryExecution execution, Map told) {
    List scans = execution == null ? new ArrayList() : PlanLeaves.of(execution).scans;
    for (int i = 0; i < scans.size(); i++) {
      if (!(scans.get(i) instanceof FileSourceScanExec)) continue;
      FileSourceScanExec scan = (FileSourceScanExec) scans.get(i);
      if (!(scan.relation().location() instanceof PrunedFileIndex)) continue;
      Narrowing narrowing = ((PrunedFileIndex) scan.relation().location()).narrowing();
      Long id = Long.valueOf(((SQLMetric) scan.metrics().apply("numOutputRows")).id());
      if (narrowing == null || known.containsKey(id)) continue;
      Object format = scan.relation().fileFormat();
      ShownScan shown = new ShownScan(narrowing, format instanceof GatedParquet ? (GatedParquet) format : null);
      known.put(id, shown);
      told.put(shown, new Told(true));
      if (known.size() > MOST) known.remove(known.keySet().iterator().next());
    }
  }

  /** The plan with our metrics at its narrowed scans. */
  private SparkPlanInfo with(SparkPlanInfo plan, Map told, boolean[] changed) {
    List metrics = new ArrayList();
    ShownScan shown = null;
    scala.collection.Iterator each = plan.metrics().iterator();
    while (each.hasNext()) {
      SQLMetricInfo metric = (SQLMetricInfo) each.next();
      metrics.add(metric);
      if (shown == null) shown = (ShownScan) known.get(Long.valueOf(metric.accumulatorId()));
    }
    List children = new ArrayList();
    each = plan.children().iterator();
    while (each.hasNext()) children.add(with((SparkPlanInfo) each.next(), told, changed));
    String text = plan.simpleString();
    if (shown != null) {
      changed[0] = true;
      shown.addTo(metrics);
      text += ", Headgate: " + shown.filters;
      if (!told.containsKey(shown)) told.put(shown, new Told(false));
    }
    return new SparkPlanInfo(plan.nodeName(), text, Seqs.of(children), plan.metadata(), Seqs.of(metrics));
  }

  /** Tells what has changed since it was told last: Spark adds up what it is told. */
  private void tell(Long number) {
    Map told = (Map) open.get(number);
    List updates = new ArrayList();
    java.util.Iterator each = told == null ? new ArrayList().iterator() : told.keySet().iterator();
    while (each.hasNext()) {
      ShownScan scan = (ShownScan) each.next();
      Told before = (Told) told.get(scan);
      before.planned = changed(scan, before.planned, scan.planned(), updates);
      // in a second run, late filters have counted for both
      if (before.isFirstRun) before.late = changed(scan, before.late, scan.late(!shares(scan, told)), updates);
    }
    if (!updates.isEmpty()) tab.onOtherEvent(new SparkListenerDriverAccumUpdates(number.longValue(), Seqs.of(updates)));
  }

  private static long[] changed(ShownScan scan, long[] before, long[] now, List updates) {
    for (int i = 0; now != null && i < now.length; i++) {
      if (now[i] != before[i]) updates.add(new scala.Tuple2(Long.valueOf(scan.id(i)), Long.valueOf(now[i] - before[i])));
    }
    return now == null ? before : now;
  }

  private static boolean shares(ShownScan scan, Map told) {
    java.util.Iterator each = told.keySet().iterator();
    while (each.hasNext()) if (scan.sharesFilters((ShownScan) each.next())) return true;
    return false;
  }

  /** What has been told of one scan in one run. */
  private static class Told {
    private final boolean isFirstRun;
    private long[] planned = new long[ShownScan.METRICS];
    private long[] late = new long[ShownScan.METRICS];

    Told(boolean isFirstRun) { this.isFirstRun = isFirstRun; }
  }
}
