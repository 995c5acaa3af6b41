package headgate.changes;

import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.QueryInfo;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;

/**
 * The dynamic filter operator: rows whose value stands in a relation to one that moves, as a changelog.
 *
 * It is called once for each vnode and epoch; the end of its input is the end of the epoch.
 */
public class MovingFilter extends StatefulProcessor {
  private static final long serialVersionUID = 1L;
  /** The column of the input that has the compared time again, where late rows can be told by it. */
  public static final String TIME = "_time";
  final String name;
  final Comparison comparison;
  final String kept;  // what the state must have been made for
  final boolean ordered;
  final String moves;  // up, down, both, or held: up, and where it would go down it stays
  final long pieceRows;  // of one vnode and epoch; 0 means all
  final int blockBytes;
  final int freshBytes;
  final EpochRecords records;
  transient ValueState head;
  transient MapState zones;
  transient MapState blocks;

  public MovingFilter(String name, String operator, String kept, boolean ordered, String moves, long pieceRows, int blockBytes,
      int freshBytes, EpochRecords records) {
    this.name = name;
    this.comparison = new Comparison(operator);
    this.kept = kept;
    this.ordered = ordered;
    this.moves = moves;
    this.pieceRows = pieceRows;
    this.blockBytes = blockBytes;
    this.freshBytes = freshBytes;
    this.records = records;
  }

  /** What decides which rows can be forgotten. */
  String promise() { return "moves=\"" + moves + "\" and " + comparison; }

  public void init(OutputMode outputMode, TimeMode timeMode) {
    head = getHandle().getValueState("head", Encoders.BINARY(), TTLConfig.NONE());
    zones = getHandle().getMapState("zones", Encoders.LONG(), Encoders.BINARY(), TTLConfig.NONE());
    blocks = getHandle().getMapState("blocks", Encoders.LONG(), Encoders.BINARY(), TTLConfig.NONE());
  }

  /** The highest time that can never pass again after a batch of a query, in microseconds, or null: what was so once stays so. */
  public Long neverAgain(String query, long batch) {
    EpochRecord last = records.lastOf(query);
    if (last == null || last.batch > batch || last.vnodesPending > 0) return null;
    return moves.equals("up") || moves.equals(OneWay.HELD) ? comparison.neverAgain(last.afterCode) : null;
  }

  public scala.collection.Iterator handleInputRows(Object vnode, scala.collection.Iterator rows, TimerValues timers) {
    QueryInfo query = getHandle().getQueryInfo();
    EpochRecord record = new EpochRecord(query.getQueryId().toString(), query.getRunId().toString(), query.getBatchId(), ((Integer) vnode).intValue());
    return new MovingEpoch(this, ((Integer) vnode).intValue(), rows, record);
  }
}
