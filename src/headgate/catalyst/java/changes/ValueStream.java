package headgate.changes;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;

/** One run of a query over a value that moves. Spark tells it where it stands, so a restart goes on from there. */
class ValueStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final MovingValue value;
  private String fixed;  // what the value was when a query started that stops when all is read
  private boolean justStarted = true;

  ValueStream(MovingValue value) { this.value = value; }

  public void prepareForTriggerAvailableNow() { if (value.isFixedAtStart()) fixed = value.now(); }

  /** Not "all available": so a query that runs a single batch, whose limit that is, can be told apart. */
  public ReadLimit getDefaultReadLimit() { return new OneStep(); }

  public Offset latestOffset(Offset start, ReadLimit limit) {
    ValueOffset last = (ValueOffset) start;
    String next = value.next(last.value, fixed == null ? value.now() : fixed, justStarted, limit instanceof ReadAllAvailable);
    justStarted = false;
    if (next == null) return last.value == null ? null : last;  // an offset where there was none would be news
    return new ValueOffset(last.moves + 1L, next);
  }

  public Offset latestOffset() { throw new UnsupportedOperationException("Spark asks with a start and a limit"); }
  public Offset initialOffset() { return ValueOffset.NONE; }
  public Offset deserializeOffset(String json) { return ValueOffset.read(json); }
  public void commit(Offset end) {}
  public void stop() {}

  /** One row, of the last value: what lies between start and end has been overtaken. */
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    ValueOffset last = (ValueOffset) end;
    if (last.moves == ((ValueOffset) start).moves) return new InputPartition[0];
    return new InputPartition[] {new OneRow(value.row(last.value))};
  }

  public PartitionReaderFactory createReaderFactory() { return new Readers(); }
  public String toString() { return value.toString(); }

  static class OneStep implements ReadLimit {
    public String toString() { return "one step"; }
  }

  static class OneRow implements InputPartition {
    private static final long serialVersionUID = 1L;
    final InternalRow row;

    OneRow(InternalRow row) { this.row = row; }
  }

  static class Readers implements PartitionReaderFactory {
    private static final long serialVersionUID = 1L;

    public PartitionReader createReader(InputPartition partition) { return new Reader(((OneRow) partition).row); }
  }

  static class Reader implements PartitionReader {
    private final InternalRow row;
    private boolean read;

    Reader(InternalRow row) { this.row = row; }

    public boolean next() {
      boolean first = !read;
      read = true;
      return first;
    }

    public Object get() { return row; }
    public void close() {}
  }
}
