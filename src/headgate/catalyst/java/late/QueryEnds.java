package headgate.late;

import headgate.interop.Subqueries;
import headgate.scan.KnownFiles;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.util.QueryExecutionListener;

/** Notes which queries with late filters have ended, well or badly, so that what is held for them can be freed. */
public class QueryEnds implements QueryExecutionListener {
  private static final int MOST = 10000;
  private final List ended = new ArrayList();
  private final Map planned = new HashMap();

  public void onSuccess(String function, QueryExecution execution, long nanoseconds) { note(execution, "FINISHED"); }

  /** A query that was not optimized must not be optimized here: its error would bear the traces of it. */
  public void onFailure(String function, QueryExecution execution, Exception failure) {
    if (((scala.collection.Map) execution.tracker().phases()).contains("optimization")) note(execution, "FAILED");
  }

  private void note(QueryExecution execution, String state) {
    try {
      find(execution.optimizedPlan(), state);
    } catch (Throwable unplanned) {
      return;
    }
  }

  private void find(LogicalPlan plan, String state) {
    HadoopFsRelation files = KnownFiles.of(plan);
    if (files != null && files.fileFormat() instanceof GatedParquet) end(((GatedParquet) files.fileFormat()).query(), state);
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) find((LogicalPlan) each.next(), state);
    List inside = Subqueries.of(plan);
    for (int i = 0; i < inside.size(); i++) find((LogicalPlan) inside.get(i), state);
  }

  private synchronized void end(String query, String state) {
    planned.remove(query);
    add(query + " " + state);
  }

  private void add(String query) { if (ended.size() < MOST && !ended.contains(query)) ended.add(query); }

  /** Watches a query whose plan may never run: when nobody holds the plan any more, the query has ended, too. */
  public synchronized void watch(LateSource source) { planned.put(source.query, new WeakReference(source.held())); }

  /** Queries and their ends since this was asked last: "id FINISHED", "id FAILED" or "id CANCELLED". */
  public synchronized List take() {
    java.util.Iterator each = planned.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      if (((WeakReference) entry.getValue()).get() != null) continue;
      each.remove();
      add(entry.getKey() + " CANCELLED");
    }
    List taken = new ArrayList(ended);
    ended.clear();
    return taken;
  }
}
