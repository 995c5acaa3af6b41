package headgate;

import java.util.HashMap;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;

/** Spark's own Parquet format, reading only the byte ranges of surviving row groups. */
public class PrunedParquet extends ParquetFileFormat {
  private final HashMap ranges;

  /** ranges: path to long[] {start, end, start, end, ...}; a file that is not named is read whole. */
  public PrunedParquet(HashMap ranges) {
    super();
    this.ranges = ranges;
  }

  public scala.Function1 buildReaderWithPartitionValues(org.apache.spark.sql.SparkSession session,
      org.apache.spark.sql.types.StructType data, org.apache.spark.sql.types.StructType partition,
      org.apache.spark.sql.types.StructType required, scala.collection.immutable.Seq filters,
      scala.collection.immutable.Map options, org.apache.hadoop.conf.Configuration conf) {
    return new RowGroupReader(super.buildReaderWithPartitionValues(session, data, partition, required, filters, options, conf), ranges);
  }

  public boolean equals(Object other) {
    if (!(other instanceof PrunedParquet) || ((PrunedParquet) other).ranges.size() != ranges.size()) return false;
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
