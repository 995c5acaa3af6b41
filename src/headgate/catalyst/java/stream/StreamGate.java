package headgate.stream;

import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Failures;
import headgate.interop.Handover;
import headgate.scan.KnownFiles;
import headgate.scan.PrunedParquet;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** The gate of streaming queries: narrows each micro-batch inside the JVM, and remembers what it did. */
public class StreamGate {
  /** Executions that are reported. Before 4.2 Spark plans each twice, the second time only to print it: nothing counts its rows. */
  private static final Map PLANNED = Collections.synchronizedMap(new WeakHashMap());
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int QUERIES = 64;
  private static final int BATCHES = 100;
  private static final LinkedHashMap QUERY_LOGS = new LinkedHashMap();

  /** What is remembered of one query: numbers and text, no plan and nothing that leads to one. */
  private static class Log {
    final List records = new ArrayList();
    long failures = 0L;
    String lastFailure = "";
    long generation = 0L;
    long cut = Long.MIN_VALUE;
  }

  /** The micro-batch without its late rows, or the plan itself where this thread plans no micro-batch. */
  public static LogicalPlan narrow(SparkSession session, LogicalPlan plan, Failures failures) throws Exception {
    MicroBatch batch = MicroBatch.running(session);
    if (batch == null || !batch.isOn("enabled") || isNarrowed(plan)) return plan;
    BatchRecord record = new BatchRecord(batch, hintsAtLateFiles(batch.queryId));
    LogicalPlan narrowed = plan;
    try {
      narrowed = new WatermarkCut(batch, record).narrow(plan);
    } catch (Exception failure) {
      record.failure = failure.toString();
      record.sources.clear();
      failures.note("a micro-batch", failure, 0L);
    }
    record.end();
    if (PLANNED.put(batch.execution, Boolean.TRUE) == null) remember(batch.queryId, record);
    return narrowed;
  }

  /** Other rules of the session may bring a plan here again after it was narrowed. */
  private static boolean isNarrowed(LogicalPlan plan) {
    if (plan instanceof Filter && EventTimeTest.isIn((Expression) ((Filter) plan).condition())) return true;
    HadoopFsRelation files = KnownFiles.of(plan);
    if (files != null && files.fileFormat() instanceof PrunedParquet) return true;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (isNarrowed((LogicalPlan) each.next())) return true;
    return false;
  }

  /** Whether the latest batch of a query had late files. */
  private static boolean hintsAtLateFiles(String queryId) {
    synchronized (QUERY_LOGS) {
      Log log = (Log) QUERY_LOGS.get(queryId);
      return log != null && !log.records.isEmpty() && ((BatchRecord) log.records.get(log.records.size() - 1)).hintsAtLateFiles();
    }
  }

  private static void remember(String queryId, BatchRecord record) {
    synchronized (QUERY_LOGS) {
      Log log = (Log) QUERY_LOGS.remove(queryId);
      if (log == null) log = new Log();
      QUERY_LOGS.put(queryId, log);
      while (QUERY_LOGS.size() > QUERIES) QUERY_LOGS.remove(QUERY_LOGS.keySet().iterator().next());
      if (record.highestCut() > log.cut) {
        log.cut = record.highestCut();
        log.generation++;
      }
      record.generation = log.generation;
      if (!record.failure.isEmpty()) {
        log.failures++;
        log.lastFailure = record.failure;
      }
      int last = log.records.size() - 1;
      // a batch that is planned again, after a failure or by another rule, is reported once
      if (last >= 0 && ((BatchRecord) log.records.get(last)).number == record.number) log.records.remove(last);
      log.records.add(record);
      if (log.records.size() > BATCHES) log.records.remove(0);
    }
  }

  /** The queries that are remembered, the latest last, as JSON. */
  public static String queries() throws Exception {
    synchronized (QUERY_LOGS) {
      return Handover.of(MAPPER.writeValueAsBytes(QUERY_LOGS.keySet()));
    }
  }

  /** The last micro-batches of a query, oldest first, and how often Headgate has failed in it, as JSON. */
  public static String read(String queryId) throws Exception {
    List batches = new ArrayList();
    Map found = new LinkedHashMap();
    synchronized (QUERY_LOGS) {
      Log log = (Log) QUERY_LOGS.get(queryId);
      for (int i = 0; log != null && i < log.records.size(); i++) batches.add(((BatchRecord) log.records.get(i)).toMap());
      found.put("batches", batches);
      found.put("failures", Long.valueOf(log == null ? 0L : log.failures));
      found.put("lastFailure", log == null ? "" : log.lastFailure);
    }
    return Handover.of(MAPPER.writeValueAsBytes(found));
  }
}
