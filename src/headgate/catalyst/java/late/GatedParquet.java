package headgate.late;

import headgate.scan.PrunedParquet;
import headgate.scan.Snapshot;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.util.SerializableConfiguration;

/** Spark's own Parquet format behind a gate that late filters can close while the job runs. */
public class GatedParquet extends PrunedParquet {
  private final LateSource source;
  private final GateFilter[] filters;
  private final LateFilterCounts counts;
  private final HashMap left;
  private final int scan;

  public GatedParquet(HashMap ranges, List conditions, Snapshot snapshot, LateSource source, GateFilter[] filters, LateFilterCounts counts, int scan) {
    super(ranges, conditions, snapshot);
    this.source = source;
    this.filters = filters;
    this.counts = counts;
    this.left = ranges;
    this.scan = scan;
  }

  public scala.Function1 buildReaderWithPartitionValues(org.apache.spark.sql.SparkSession session,
      org.apache.spark.sql.types.StructType data, org.apache.spark.sql.types.StructType partition,
      org.apache.spark.sql.types.StructType required, scala.collection.immutable.Seq pushed,
      scala.collection.immutable.Map options, org.apache.hadoop.conf.Configuration conf) {
    scala.Function1 reader = super.buildReaderWithPartitionValues(session, data, partition, required, pushed, options, conf);
    if (!isCurrent() || skipsCorrupt(options)) return reader;
    org.apache.spark.broadcast.Broadcast shared = session.sparkContext().broadcast(new SerializableConfiguration(conf),
        scala.reflect.ClassTag$.MODULE$.apply(SerializableConfiguration.class));
    return new GateReader(reader, new LateGate(source, filters, counts, shared, scan, left));
  }

  /** What late filters left unread so far: files, and row groups of other files. */
  public long[] unread() { return counts.unread().of(scan); }

  /** The numbers of the late filters on this scan. */
  public int[] numbers() {
    int[] found = new int[filters.length];
    for (int i = 0; i < found.length; i++) found[i] = filters[i].number;
    return found;
  }

  public LateFilterCounts counts() { return counts; }

  public String query() { return source.query; }

  public boolean equals(Object other) {
    if (!(other instanceof GatedParquet) || !super.equals(other) || !((GatedParquet) other).source.equals(source)) return false;
    GateFilter[] theirs = ((GatedParquet) other).filters;
    if (theirs.length != filters.length) return false;
    for (int i = 0; i < theirs.length; i++) if (!theirs[i].isSame(filters[i])) return false;
    return true;
  }

  public int hashCode() { return super.hashCode() * 31 + source.hashCode(); }
}
