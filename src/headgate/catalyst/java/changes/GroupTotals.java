package headgate.changes;

import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.unsafe.Platform;

/** Totals of groups of rows that come and go, as a changelog: one change for each group that a batch has touched. */
public class GroupTotals extends StatefulProcessor {
  private static final long serialVersionUID = 1L;
  final Totals totals;
  transient Packing.Packed packing;
  transient ValueState head;
  transient MapState values;  // number of an input and code of a value -> how often it is there

  GroupTotals(Totals totals) { this.totals = totals; }

  public void init(OutputMode outputMode, TimeMode timeMode) {
    packing = new Packing.Packed(totals.row);
    head = getHandle().getValueState("totals", Encoders.BINARY(), TTLConfig.NONE());
    values = getHandle().getMapState("values", Encoders.BINARY(), Encoders.LONG(), TTLConfig.NONE());
  }

  /** Take the changes of one group in one batch: packed rows of their kind and the inputs. */
  public scala.collection.Iterator handleInputRows(Object key, scala.collection.Iterator rows, TimerValues timers) {
    GroupEpoch group = new GroupEpoch(this);
    UnsafeRow row = new UnsafeRow(totals.inputs.length + 1);
    while (rows.hasNext()) {
      byte[] packed = (byte[]) ((Row) rows.next()).get(1);
      row.pointTo(packed, Platform.BYTE_ARRAY_OFFSET, packed.length);
      group.take(row);
    }
    List changes = group.end((byte[]) key);
    return scala.jdk.javaapi.CollectionConverters.asScala(changes.iterator());
  }
}
