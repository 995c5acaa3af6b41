package headgate.build;

import com.fasterxml.jackson.databind.JsonNode;
import headgate.interop.Json;
import headgate.interop.SessionResources;
import headgate.scan.PlanLeaves;
import headgate.scan.ReadCounts;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkThrowable;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.QueryExecution$;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataType;

/** Runs one build side once. The plan is optimized already, so it goes straight to the physical planner. */
public class BuildRun implements Runnable, Callable {
  public final Build build = new Build();
  private final BuildOwner owner;
  private final JsonNode request;
  private final JsonNode limits;
  private final String tag;
  private final CountDownLatch submitted;
  /** Headgate itself ends the build, since nobody needs it: that is not the user's wish to end the query. */
  public volatile boolean givenUp = false;

  /** Counts ``submitted`` down when its job is in Spark's queue, or when there will be none. */
  public BuildRun(BuildOwner owner, JsonNode request, JsonNode limits, String tag, CountDownLatch submitted) {
    this.tag = tag;
    this.submitted = submitted;
    this.owner = owner;
    this.request = request;
    this.limits = limits;
  }

  private String serves() {
    String named = request.has("serves") ? Json.field(request, "serves").asText() : "";
    return named.length() == 0 ? "a dynamic filter" : named;
  }

  public int keyCount() { return Json.field(request, "keys").size(); }

  public void run() {
    long started = System.nanoTime();
    try {
      SparkSession.setActiveSession(owner.session());
      SparkContext spark = owner.session().sparkContext();
      java.util.Properties inherited = new java.util.Properties();
      java.util.Iterator names = owner.localProperties().stringPropertyNames().iterator();
      while (names.hasNext()) {
        String name = (String) names.next();
        inherited.setProperty(name, owner.localProperties().getProperty(name));
      }
      inherited.setProperty("spark.job.description", "headgate: build side of " + serves());
      spark.setLocalProperties(inherited);
      spark.addJobTag(tag);
      SessionResources.with(owner.session(), owner.hasOwnResources(), this);
    } catch (Throwable failure) {
      build.rows = null;
      build.partials.clear();
      build.error = failure.toString();
      if (!givenUp && isCancellation(failure)) owner.cancel(failure);
    }
    submitted.countDown();
    build.millis = (System.nanoTime() - started) / 1000000L;
  }

  /** Collects what the build side gives: the part of `run` that Spark's own classes do for the session. */
  public Object call() throws Exception {
    collect();
    return null;
  }

  private void collect() throws Exception {
    LogicalPlan plan = owner.buildSide(Json.field(request, "node").asInt(), Json.field(request, "edits").toString());
    DataType[] columns = new DataType[plan.output().size()];
    for (int i = 0; i < columns.length; i++) columns[i] = ((Attribute) plan.output().apply(i)).dataType();
    int[] keys = new int[keyCount()];
    for (int i = 0; i < keys.length; i++) keys[i] = Json.item(Json.field(request, "keys"), i).asInt();
    long rowBytes = Json.field(request, "rowBytes").asLong();
    BuildTask task = new BuildTask(columns, keys, rowBytes, Json.field(limits, "maxDistinct").asInt(), Json.field(limits, "maxBytes").asLong());
    SparkPlan physical = QueryExecution$.MODULE$.prepareExecutedPlan(owner.session(), plan);
    List parts;
    if (physical instanceof LocalTableScanExec) {
      // local rows need no job
      Iterator rows = scala.jdk.javaapi.CollectionConverters.asJava(((LocalTableScanExec) physical).rows()).iterator();
      parts = new ArrayList();
      parts.add(task.collect(rows));
    } else {
      parts = collected(physical.execute().toJavaRDD().mapPartitions(task).collectAsync());
      build.reads = ReadCounts.of(PlanLeaves.of(physical));
    }
    merge(parts, columns.length, rowBytes);
  }

  private List collected(JavaFutureAction job) throws Exception {
    submitted.countDown();
    try {
      return (List) job.get();
    } catch (InterruptedException interrupted) {
      job.cancel(true);
      throw interrupted;
    } catch (ExecutionException failure) {
      if (failure.getCause() instanceof Exception) throw (Exception) failure.getCause();
      throw failure;
    }
  }

  private void merge(List parts, int columns, long rowBytes) {
    if (rowBytes <= 0L) build.rows = null;
    for (int p = 0; p < parts.size(); p++) {
      PartialBuild part = (PartialBuild) parts.get(p);
      build.rowCount += part.rowCount;
      build.partials.add(part.keys);
      if (part.rows == null || build.rowBytes > rowBytes) build.rows = null;
      if (build.rows == null) continue;
      build.rowBytes += part.rows.length;
      ByteBuffer buffer = ByteBuffer.wrap(part.rows);
      while (buffer.hasRemaining()) {
        byte[] raw = new byte[buffer.getInt()];
        buffer.get(raw);
        UnsafeRow row = new UnsafeRow(columns);
        row.pointTo(raw, raw.length);
        build.rows.add(row);
      }
    }
    if (build.rowBytes > rowBytes) build.rows = null;
  }

  /**
   * Whether someone ended the build's jobs: then the query has to end, too, and not go on without its filter.
   *
   * The condition that Spark gives such a failure says so; a message may hold any word, since data gets into it.
   */
  private static boolean isCancellation(Throwable failure) {
    if (failure instanceof InterruptedException) return true;
    for (Throwable at = failure; at != null; at = at.getCause()) {
      if (at instanceof SparkThrowable && "SPARK_JOB_CANCELLED".equals(((SparkThrowable) at).getCondition())) return true;
    }
    return false;
  }
}
