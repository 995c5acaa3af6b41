package headgate.scan;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;

/** Spark's own ORC format, which is told conditions more: its reader skips stripes by them. */
public class PrunedOrc extends OrcFileFormat {
  private final transient List conditions;
  private final transient Snapshot snapshot;

  /** conditions: source filters. snapshot: null in a build side. */
  public PrunedOrc(List conditions, Snapshot snapshot) {
    super();
    this.conditions = conditions;
    this.snapshot = snapshot;
  }

  public scala.Function1 buildReaderWithPartitionValues(org.apache.spark.sql.SparkSession session,
      org.apache.spark.sql.types.StructType data, org.apache.spark.sql.types.StructType partition,
      org.apache.spark.sql.types.StructType required, scala.collection.immutable.Seq filters,
      scala.collection.immutable.Map options, org.apache.hadoop.conf.Configuration conf) {
    List all = new ArrayList();
    scala.collection.Iterator each = filters.iterator();
    while (each.hasNext()) all.add(each.next());
    // where Spark gives up a file at its first damaged stripe, that stripe must not be skipped
    if ((snapshot == null || snapshot.holds()) && !PrunedParquet.skipsCorrupt(options)) all.addAll(conditions);
    return super.buildReaderWithPartitionValues(session, data, partition, required, Seqs.of(all), options, conf);
  }

  public boolean equals(Object other) {
    if (other == null || other.getClass() != getClass()) return false;
    return ((PrunedOrc) other).snapshot == snapshot && ((PrunedOrc) other).conditions.equals(conditions);
  }

  public int hashCode() { return conditions.hashCode(); }
}
