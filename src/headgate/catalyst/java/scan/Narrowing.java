package headgate.scan;

import java.lang.ref.WeakReference;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution$;

/**
 * What filters left out of one scan when its files were listed, for those who look at Spark's SQL tab.
 *
 * The tab is told by another thread, which may come when the query has ended. So the query that lists files is remembered
 * under its number; it is not kept alive by that, as Spark's own message of its end does so.
 */
public class Narrowing {
  private static final int MOST = 1000;
  private static final LinkedHashMap running = new LinkedHashMap();
  private final SparkContext context;
  private final Map unreadGroups;
  /** Each a String: the filters of the scan, as the report names them. */
  public final List filters;
  private volatile long files;
  private volatile long rowGroups;

  /** unreadGroups: how many row groups are not read of a file, by path. */
  public Narrowing(SparkContext context, List filters, Map unreadGroups) {
    this.context = context;
    this.filters = filters;
    this.unreadGroups = unreadGroups;
  }

  public long files() { return files; }
  /** Row groups that are not read of files that are. */
  public long rowGroups() { return rowGroups; }

  int groupsLeftOf(String path) {
    Integer unread = (Integer) unreadGroups.get(path);
    return unread == null ? 0 : unread.intValue();
  }

  void listed(long skippedFiles, long skippedGroups) {
    files = skippedFiles;
    rowGroups = skippedGroups;
    String number = context.getLocalProperty("spark.sql.execution.id");
    if (number != null) remember(Long.valueOf(number));
  }

  private static void remember(Long number) {
    QueryExecution execution = SQLExecution$.MODULE$.getQueryExecution(number.longValue());
    if (execution == null) return;
    synchronized (running) {
      running.put(number, new WeakReference(execution));
      if (running.size() > MOST) running.remove(running.keySet().iterator().next());
    }
  }

  /** The query of some number, if it runs or has listed narrowed files; else null. */
  public static QueryExecution query(long number) {
    synchronized (running) {
      WeakReference held = (WeakReference) running.get(Long.valueOf(number));
      if (held != null && held.get() != null) return (QueryExecution) held.get();
    }
    return SQLExecution$.MODULE$.getQueryExecution(number);
  }

  public static void forget(long number) {
    synchronized (running) {
      running.remove(Long.valueOf(number));
    }
  }
}
