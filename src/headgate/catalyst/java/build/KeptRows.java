package headgate.build;

import headgate.interop.Seqs;
import headgate.scan.KnownFiles;
import headgate.scan.Snapshot;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution$;

/**
 * The rows of a build side that ran at planning; or, if its tables have changed since, the build side itself.
 *
 * Which of the two is decided when Spark asks for partitions or dependencies, which is when the query is executed.
 */
public class KeptRows extends RDD {
  private static final scala.reflect.ClassTag ROWS = scala.reflect.ClassTag$.MODULE$.apply(InternalRow.class);
  private static final long PART_BYTES = 4L << 20;
  private final transient SparkSession session;
  private final transient Snapshot snapshot;
  private transient List rows;
  private final transient LogicalPlan buildSide;
  private transient RDD again;

  public KeptRows(SparkSession session, Snapshot snapshot, List rows, LogicalPlan buildSide) {
    super(session.sparkContext(), Seqs.of(new ArrayList()), ROWS);
    this.session = session;
    this.snapshot = snapshot;
    this.rows = rows;
    this.buildSide = buildSide;
  }

  /**
   * Whether another build side would do the same: it gave the same rows, and would read the same files again.
   *
   * Equal plans are not enough: one may have run with fewer files, and to Spark two listings of a folder are equal.
   */
  public boolean isSame(List otherRows, LogicalPlan other) { return KnownFiles.readSame(buildSide, other) && otherRows.equals(rows); }

  /** The rows as they were read at planning. */
  public List rows() { return rows; }

  /** The build side, run again; null where its rows hold. */
  private synchronized RDD again() {
    if (again == null && !snapshot.holds()) {
      again = QueryExecution$.MODULE$.prepareExecutedPlan(session, buildSide).execute();
      rows = null;
    }
    return again;
  }

  public scala.collection.immutable.Seq getDependencies() {
    List parents = new ArrayList();
    if (again() != null) parents.add(new org.apache.spark.OneToOneDependency(again()));
    return Seqs.of(parents);
  }

  public Partition[] getPartitions() { return again() == null ? parts() : again().partitions(); }

  /** A part for each core, as Spark has it for local rows, and more where a task would carry too much. */
  private Partition[] parts() {
    int each = Math.max(1, (rows.size() + session.leafNodeDefaultParallelism() - 1) / session.leafNodeDefaultParallelism());
    List found = new ArrayList();
    List part = new ArrayList();
    long bytes = 0L;
    for (int i = 0; i < rows.size(); i++) {
      UnsafeRow row = (UnsafeRow) rows.get(i);
      if (!part.isEmpty() && (part.size() >= each || bytes + row.getSizeInBytes() > PART_BYTES)) {
        found.add(new KeptPart(found.size(), part));
        part = new ArrayList();
        bytes = 0L;
      }
      part.add(row);
      bytes += row.getSizeInBytes();
    }
    if (!part.isEmpty()) found.add(new KeptPart(found.size(), part));
    return (Partition[]) found.toArray(new Partition[0]);
  }

  public scala.collection.Iterator compute(Partition split, TaskContext task) {
    if (!(split instanceof KeptPart)) return firstParent(ROWS).iterator(split, task);
    return scala.jdk.javaapi.CollectionConverters.asScala(((KeptPart) split).rows.iterator());
  }
}
