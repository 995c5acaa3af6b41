package headgate.changes;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A value that moves, as Spark wants to see a table that it reads batch by batch. */
class ValueTable implements Table, SupportsRead {
  private final MovingValue value;

  ValueTable(MovingValue value) { this.value = value; }

  public String name() { return value.toString(); }
  public StructType schema() { return value.schema(); }
  public Set capabilities() { return EnumSet.of(TableCapability.MICRO_BATCH_READ); }
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) { return new Reading(value); }

  static class Reading implements ScanBuilder, Scan {
    private final MovingValue value;

    Reading(MovingValue value) { this.value = value; }

    public Scan build() { return this; }
    public StructType readSchema() { return value.schema(); }
    public String description() { return value.toString(); }

    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      value.startsAt(checkpoint);
      return new ValueStream(value);
    }
  }
}
