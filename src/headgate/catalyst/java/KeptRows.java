package headgate;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
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
  private final transient SparkSession session;
  private final transient Snapshot snapshot;
  private transient List rows;
  private final transient LogicalPlan buildSide;
  private transient RDD chosen;

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
   * Plans alone do not tell: one may have run with fewer files, and two listings of a folder are equal to Spark.
   */
  boolean isSame(List otherRows, LogicalPlan other) { return KnownFiles.readSame(buildSide, other) && otherRows.equals(rows); }

  private synchronized RDD chosen() {
    if (chosen == null) {
      if (!snapshot.holds()) {
        chosen = QueryExecution$.MODULE$.prepareExecutedPlan(session, buildSide).execute();
        rows = null;
      } else if (rows.isEmpty()) {
        chosen = session.sparkContext().emptyRDD(ROWS);
      } else {
        chosen = session.sparkContext().parallelize(Seqs.of(rows), Math.min(rows.size(), session.leafNodeDefaultParallelism()), ROWS);
      }
    }
    return chosen;
  }

  public scala.collection.immutable.Seq getDependencies() {
    List one = new ArrayList();
    one.add(new org.apache.spark.OneToOneDependency(chosen()));
    return Seqs.of(one);
  }

  public Partition[] getPartitions() { return chosen().partitions(); }

  public scala.collection.Iterator compute(Partition split, TaskContext task) { return firstParent(ROWS).iterator(split, task); }
}
