package headgate.changes;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The time, in microseconds: the machine's, or one that is set by hand. It never goes back, and not further than allowed. */
public class Clock implements MovingValue {
  private final ClockHand hand;  // null for the machine's time
  private final long tick;
  private final long mostPerBatch;  // 0 means any

  public Clock(ClockHand hand, long tick, long mostPerBatch) {
    this.hand = hand;
    this.tick = tick;
    this.mostPerBatch = mostPerBatch;
  }

  public StructType schema() { return new StructType().add("_now", DataTypes.TimestampType, false); }

  public String now() { return Long.toString(hand == null ? ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now()) : hand.get()); }

  public String next(String last, String now, boolean justStarted, boolean withoutLimit) {
    if (last == null) return now;
    long from = Long.parseLong(last);
    long to = Long.parseLong(now);
    if (to < from + tick) return null;
    return mostPerBatch == 0L || withoutLimit ? now : Long.toString(Math.min(to, from + mostPerBatch));
  }

  public void startsAt(String checkpoint) {}
  public boolean isFixedAtStart() { return true; }
  public InternalRow row(String value) { return new GenericInternalRow(new Object[] {Long.valueOf(value)}); }
  public String toString() { return hand == null ? "the machine's clock" : "a clock set by hand"; }
}
