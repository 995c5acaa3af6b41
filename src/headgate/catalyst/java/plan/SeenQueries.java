package headgate.plan;

import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.scan.PlanLeaves;
import headgate.scan.ReadCounts;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.QueryPlanningTracker$;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.util.QueryExecutionListener;

/** The last queries of a session, filtered or not: when each was planned, what it says, and how it ended. Numbers and text only. */
public class SeenQueries implements QueryExecutionListener {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int MOST = 1000;
  private static final int LONGEST = 4000;
  /** Spark has one tracker for each query, from its planning to its end. */
  private final Map byTracker = new WeakHashMap();
  private final Map byNumber = new LinkedHashMap();
  /** The numbers of queries by Spark's id of their execution: what runs in the middle of one belongs to it. */
  private final Map byExecution = new LinkedHashMap();
  private long next = 0L;
  private long version = 0L;

  /** Notes the query whose plan this thread optimizes, once, and returns its number; 0 where there is none to tell of. */
  synchronized long note(SparkSession session, LogicalPlan plan, String note) {
    scala.Option tracker = QueryPlanningTracker$.MODULE$.get();
    if (tracker.isEmpty() || (plan instanceof Command && plan.children().isEmpty())) return 0L;
    Map known = (Map) byTracker.get(tracker.get());
    if (known != null) return ((Long) known.get("number")).longValue();
    String inside = session.sparkContext().getLocalProperty("spark.sql.execution.id");
    String root = session.sparkContext().getLocalProperty("spark.sql.execution.root.id");
    Long whole = root == null || root.equals(inside) ? null : (Long) byExecution.get(root);
    if (whole != null) return whole.longValue();
    Map query = new LinkedHashMap();
    query.put("number", Long.valueOf(++next));
    query.put("state", inside == null ? "PLANNED" : "RUNNING");
    query.put("started", Long.valueOf(System.currentTimeMillis()));
    query.put("text", shortened(textOf(plan)));
    query.put("where", shortened(where(session)));
    if (note != null) query.put("note", note);
    changed(query);
    byTracker.put(tracker.get(), query);
    keep(byNumber, query.get("number"), query);
    if (inside != null && inside.equals(root)) keep(byExecution, root, query.get("number"));
    return next;
  }

  private static void keep(Map found, Object key, Object value) {
    found.put(key, value);
    if (found.size() <= MOST) return;
    Iterator oldest = found.keySet().iterator();
    oldest.next();
    oldest.remove();
  }

  public void onSuccess(String function, QueryExecution execution, long nanoseconds) { end(execution, "FINISHED", nanoseconds, null); }
  public void onFailure(String function, QueryExecution execution, Exception failure) { end(execution, "FAILED", -1L, failure); }

  private void end(QueryExecution execution, String state, long nanoseconds, Exception failure) {
    // what failed may not have been planned, and must not be planned again here
    List scans = failure == null ? scansOf(execution) : new ArrayList();
    synchronized (this) {
      Map query = (Map) byTracker.get(execution.tracker());
      if (query == null) return;
      query.put("state", state);
      query.put("ended", Long.valueOf(System.currentTimeMillis()));
      if (nanoseconds >= 0L) query.put("tookMs", Long.valueOf(nanoseconds / 1000000L));
      if (failure != null) query.put("failure", shortened(firstLine(failure)));
      else query.remove("failure");  // of an earlier run
      complete(scans, (List) query.get("scans"));
      query.put("scans", scans);
      changed(query);
    }
  }

  private static void complete(List scans, List before) {
    if (before == null || before.size() != scans.size()) return;
    for (int i = 0; i < scans.size(); i++) ReadCounts.complete((Map) scans.get(i), (Map) before.get(i));
  }

  private void changed(Map query) { query.put("version", Long.valueOf(++version)); }

  /** What is known of one query, as JSON: `SeenQuery` in catalyst/wire.py; null where it is not remembered. */
  synchronized String of(long number) throws Exception {
    Object query = byNumber.get(Long.valueOf(number));
    return query == null ? null : MAPPER.writeValueAsString(query);
  }

  /** Whether a query was not seen to end. */
  synchronized boolean isOpen(long number) {
    Map query = (Map) byNumber.get(Long.valueOf(number));
    return query != null && !query.containsKey("ended");
  }

  /** What changed since a version, as JSON: `SeenQueries` in catalyst/wire.py. */
  public synchronized String since(long known) throws Exception {
    List newer = new ArrayList();
    Iterator each = byNumber.values().iterator();
    while (each.hasNext()) {
      Map query = (Map) each.next();
      if (((Long) query.get("version")).longValue() > known) newer.add(query);
    }
    Map document = new LinkedHashMap();
    document.put("version", Long.valueOf(version));
    document.put("queries", newer);
    return MAPPER.writeValueAsString(document);
  }

  /** What was read, as Spark's own scans counted it. */
  private static List scansOf(QueryExecution execution) {
    try {
      return ReadCounts.of(PlanLeaves.of(execution));
    } catch (Throwable unplanned) {
      return new ArrayList();  // a query that failed while it was planned has read nothing
    }
  }

  /** The SQL that a plan was parsed from, found in one of its nodes; null where people wrote DataFrames. */
  private static String textOf(LogicalPlan plan) {
    if (plan.origin().sqlText().isDefined()) return (String) plan.origin().sqlText().get();
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) {
      String text = textOf((LogicalPlan) each.next());
      if (text != null) return text;
    }
    return null;
  }

  private static String where(SparkSession session) {
    String described = session.sparkContext().getLocalProperty("spark.job.description");
    return described != null ? described : session.sparkContext().getLocalProperty("callSite.short");
  }

  private static String firstLine(Exception failure) {
    String said = String.valueOf(failure.getMessage());
    int end = said.indexOf('\n');
    return end < 0 ? said : said.substring(0, end);
  }

  private static String shortened(String text) {
    return text == null ? "" : text.length() > LONGEST ? text.substring(0, LONGEST) + " ..." : text;
  }
}
