package headgate.scan;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;

/** Spark's own Parquet format, reading only the byte ranges of surviving row groups, and of these what conditions leave. */
public class PrunedParquet extends ParquetFileFormat {
  private final HashMap ranges;
  private final transient List conditions;
  private final transient Snapshot snapshot;

  /** ranges: path to long[] {start, end, start, end, ...}; a file that is not named is read whole. */
  public PrunedParquet(HashMap ranges) { this(ranges, new ArrayList(), null); }

  /** conditions: source filters for Parquet's own statistics. */
  public PrunedParquet(HashMap ranges, List conditions, Snapshot snapshot) {
    super();
    this.ranges = ranges;
    this.conditions = conditions;
    this.snapshot = snapshot;
  }

  /** Whether Spark gives up a file where it is damaged: then what lies before and behind has to be read in turn. */
  protected static boolean skipsCorrupt(scala.collection.immutable.Map options) {
    return new org.apache.spark.sql.catalyst.FileSourceOptions(options).ignoreCorruptFiles();
  }

  /** Whether the tables are what they were at planning; if not, the files are read as Spark alone reads them. */
  protected boolean isCurrent() { return snapshot == null || snapshot.holds(); }

  public scala.Function1 buildReaderWithPartitionValues(org.apache.spark.sql.SparkSession session,
      org.apache.spark.sql.types.StructType data, org.apache.spark.sql.types.StructType partition,
      org.apache.spark.sql.types.StructType required, scala.collection.immutable.Seq filters,
      scala.collection.immutable.Map options, org.apache.hadoop.conf.Configuration conf) {
    boolean current = isCurrent() && !skipsCorrupt(options);
    List all = new ArrayList();
    scala.collection.Iterator each = filters.iterator();
    while (each.hasNext()) all.add(each.next());
    if (current) all.addAll(conditions);
    scala.Function1 reader = super.buildReaderWithPartitionValues(session, data, partition, required, Seqs.of(all), options, conf);
    return current && !ranges.isEmpty() ? (scala.Function1) new RowGroupReader(reader, ranges) : reader;
  }

  public boolean equals(Object other) {
    // a gated scan may read less than one that is only pruned
    if (other == null || other.getClass() != getClass() || ((PrunedParquet) other).ranges.size() != ranges.size()) return false;
    if (((PrunedParquet) other).snapshot != snapshot || !((PrunedParquet) other).conditions.equals(conditions)) return false;
    java.util.Iterator each = ranges.keySet().iterator();
    while (each.hasNext()) {
      Object path = each.next();
      long[] theirs = (long[]) ((PrunedParquet) other).ranges.get(path);
      if (theirs == null || !java.util.Arrays.equals(theirs, (long[]) ranges.get(path))) return false;
    }
    return true;
  }

  public int hashCode() { return ranges.keySet().hashCode(); }
}
