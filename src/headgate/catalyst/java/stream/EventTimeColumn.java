package headgate.stream;

import java.util.List;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.Type;

/** Finds the event time in the schema of a Parquet file as Spark does; where that could be in doubt, not at all. */
public class EventTimeColumn {
  private final String name;
  private final boolean zoned;
  private final boolean byCase;

  /** byCase: whether names that differ only in case are different names. */
  public EventTimeColumn(String name, boolean zoned, boolean byCase) {
    this.name = name;
    this.zoned = zoned;
    this.byCase = byCase;
  }

  /** The only top-level field with this name in any case; null where it is written otherwise and case may matter. */
  public String in(ParquetMetadata footer) {
    String found = null;
    List fields = footer.getFileMetaData().getSchema().getFields();
    for (int i = 0; i < fields.size(); i++) {
      String field = ((Type) fields.get(i)).getName();
      if (!field.equalsIgnoreCase(name)) continue;
      if (found != null) return null;
      found = field;
    }
    return byCase && !name.equals(found) ? null : found;
  }

  /** Microseconds in one unit of the column, or 0 where its numbers may mean something else. */
  public long unit(Type type) {
    LogicalTypeAnnotation annotation = type.getLogicalTypeAnnotation();
    if (!type.isPrimitive() || !(annotation instanceof LogicalTypeAnnotation.TimestampLogicalTypeAnnotation)) return 0L;
    LogicalTypeAnnotation.TimestampLogicalTypeAnnotation time = (LogicalTypeAnnotation.TimestampLogicalTypeAnnotation) annotation;
    if (time.isAdjustedToUTC() != zoned) return 0L;
    if (time.getUnit() == LogicalTypeAnnotation.TimeUnit.MICROS) return 1L;
    return time.getUnit() == LogicalTypeAnnotation.TimeUnit.MILLIS ? 1000L : 0L;
  }
}
