package headgate.changes;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Ticks for an operator that tells a move in pieces, as long as one is under way, so that it goes on without input. */
public class MovesUnderWay implements MovingValue {
  private final SparkContext context;
  private final EpochRecords records;

  public MovesUnderWay(SparkContext context, EpochRecords records) {
    this.context = context;
    this.records = records;
  }

  public StructType schema() { return new StructType().add("_tick", DataTypes.LongType, false); }

  /** How many vnodes have more to tell; the thread of a query knows the query's id. */
  public String now() { return Long.toString(records.pending(context.getLocalProperty("sql.streaming.queryId"))); }

  /** Who has just started cannot know whether a move was under way when the last run ended. */
  public String next(String last, String now, boolean justStarted, boolean withoutLimit) {
    return justStarted || !now.equals("0") ? Long.toString(last == null ? 1L : Long.parseLong(last) + 1L) : null;
  }

  public void startsAt(String checkpoint) {}
  public boolean isFixedAtStart() { return false; }
  public InternalRow row(String value) { return new GenericInternalRow(new Object[] {Long.valueOf(value)}); }
  public String toString() { return "ticks while a move is under way"; }
}
