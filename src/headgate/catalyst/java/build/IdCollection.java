package headgate.build;

import headgate.interop.Handover;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.classic.Dataset;

/**
 * Collects the distinct ids of a DataFrame with one job: a set in each task, united on the driver as tasks end.
 *
 * What is united is bounded, so the driver never holds more than the limit and the results of a few tasks. A job that passes it
 * is ended.
 */
public class IdCollection extends scala.runtime.AbstractFunction2 {
  private static final int DIRECT_TASKS = 64;
  private static final scala.reflect.ClassTag BYTES = scala.reflect.ClassTag$.MODULE$.apply(byte[].class);
  private final TaggedIds all = new TaggedIds();
  private final long maxIds;
  private final long maxBytes;
  private final SparkContext spark;
  private final String tag = "headgate-" + java.util.UUID.randomUUID();
  private int tasksDone = 0;
  private volatile boolean passed = false;

  private IdCollection(SparkContext spark, long maxIds, long maxBytes) {
    this.spark = spark;
    this.maxIds = maxIds;
    this.maxBytes = maxBytes;
  }

  /**
   * The ids of a frame with one bigint column, or of one with a bigint tag before it.
   *
   * Handed over: whether the limit was passed, how many tasks of how many had ended, how many ids were found, the sets.
   */
  public static String collect(Dataset frame, boolean tagged, long maxIds, long maxBytes, String description) throws Exception {
    SparkContext spark = frame.sparkSession().sparkContext();
    String before = spark.getLocalProperty("spark.job.description");
    IdCollection found = new IdCollection(spark, maxIds, maxBytes);
    RDD rows = null;
    try {
      spark.setJobDescription(description);  // before planning, whose own jobs it describes too
      rows = frame.queryExecution().toRdd();
      spark.addJobTag(found.tag);
      IdTask task = new IdTask(tagged, maxIds, maxBytes);
      if (rows.getNumPartitions() <= DIRECT_TASKS) spark.runJob(rows, (scala.Function1) task, (scala.Function2) found, BYTES);
      else found.unite(rows, task);
    } catch (Exception failure) {
      if (!found.passed) throw failure;
    } finally {
      spark.removeJobTag(found.tag);
      spark.setLocalProperty("spark.job.description", before);
    }
    return Handover.of(found.told(rows.getNumPartitions()));
  }

  /** Has the results of many tasks united in the cluster first: together they may be more than the driver takes. */
  private void unite(RDD rows, IdTask task) {
    JavaRDD parts = rows.toJavaRDD().mapPartitions(new IdPart(task));
    apply(null, parts.treeReduce(new IdMerge(maxIds, maxBytes), 2));
    tasksDone = rows.getNumPartitions();
  }

  /** Called for each task that has ended, one after the other. */
  public Object apply(Object partition, Object packed) {
    if (passed) return scala.runtime.BoxedUnit.UNIT;
    tasksDone++;
    try {
      passed = !all.take((byte[]) packed) || all.passes(maxIds, maxBytes);
    } catch (java.io.IOException damaged) {
      throw new RuntimeException(damaged);
    }
    if (passed) spark.cancelJobsWithTag(tag);
    return scala.runtime.BoxedUnit.UNIT;
  }

  private byte[] told(int tasks) throws java.io.IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeBoolean(passed);
    out.writeInt(tasksDone);
    out.writeInt(tasks);
    out.writeLong(all.size());
    if (!passed) out.write(all.packed(true));
    return bytes.toByteArray();
  }
}
