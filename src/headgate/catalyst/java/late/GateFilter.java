package headgate.late;

import headgate.scan.ColumnChunks;
import headgate.scan.OldCalendar;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.*;

/** One late filter as a gated scan sees it: which column it is for, and whether a file or a row group can match it. */
public class GateFilter implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  public final String id;
  public final int number;
  private final String column;
  private final DataType type;
  private final int partition;
  private final boolean byCase;

  /** partition: the place of the column among the partition columns, or -1. */
  public GateFilter(String id, int number, String column, DataType type, int partition, boolean byCase) {
    this.byCase = byCase;
    this.id = id;
    this.number = number;
    this.column = column;
    this.type = type;
    this.partition = partition;
  }

  public boolean isOfPartitions() { return partition >= 0; }

  /** One filter may go to several columns of a table, so its name alone does not identify a scan. */
  public boolean isSame(GateFilter other) { return id.equals(other.id) && column.equals(other.column); }

  public boolean mayMatch(LateDomain domain, InternalRow partitionValues) {
    if (partitionValues.isNullAt(partition)) return domain.allowsNull();
    if (type instanceof LongType) return domain.contains(partitionValues.getLong(partition));
    if (type instanceof IntegerType || type instanceof DateType) return domain.contains(partitionValues.getInt(partition));
    return true;
  }

  public boolean mayMatch(LateDomain domain, BlockMetaData group) {
    ColumnChunkMetaData chunk = ColumnChunks.find(group, column, byCase);
    if (chunk == null) return true;
    Statistics statistics = chunk.getStatistics();
    if (statistics == null || statistics.isEmpty()) return true;
    boolean mayHaveNulls = !statistics.isNumNullsSet() || statistics.getNumNulls() > 0L;
    if (mayHaveNulls && domain.allowsNull()) return true;
    if (!statistics.hasNonNullValue()) return !(statistics.isNumNullsSet() && statistics.getNumNulls() == group.getRowCount());
    if (!comparable(chunk)) return true;
    long low = ((Number) statistics.genericGetMin()).longValue();
    long high = ((Number) statistics.genericGetMax()).longValue();
    if (isCutOff(low) || isCutOff(high)) return true;
    if (type instanceof DateType && !OldCalendar.isSureDay(low)) return true;
    if (type instanceof TimestampType && !OldCalendar.isSureTime(low)) return true;
    return domain.overlaps(low, high);
  }

  /** Whether a number in the file is too wide for the column: it is cut off when it is read, and becomes another one. */
  private boolean isCutOff(long value) {
    if (type instanceof ByteType) return value != (byte) value;
    if (type instanceof ShortType) return value != (short) value;
    return type instanceof IntegerType && value != (int) value;
  }

  /** Whether the numbers in the file are the numbers of the column: signed, days, or microseconds. */
  private boolean comparable(ColumnChunkMetaData chunk) {
    String physical = chunk.getPrimitiveType().getPrimitiveTypeName().name();
    if (!physical.equals("INT32") && !physical.equals("INT64")) return false;
    LogicalTypeAnnotation logical = chunk.getPrimitiveType().getLogicalTypeAnnotation();
    if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return logical instanceof LogicalTypeAnnotation.TimestampLogicalTypeAnnotation
          && ((LogicalTypeAnnotation.TimestampLogicalTypeAnnotation) logical).getUnit() == LogicalTypeAnnotation.TimeUnit.MICROS;
    }
    if (type instanceof DateType) return logical instanceof LogicalTypeAnnotation.DateLogicalTypeAnnotation;
    return logical == null || (logical instanceof LogicalTypeAnnotation.IntLogicalTypeAnnotation
        && ((LogicalTypeAnnotation.IntLogicalTypeAnnotation) logical).isSigned());
  }
}
