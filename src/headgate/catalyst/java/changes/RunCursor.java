package headgate.changes;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.spark.sql.streaming.MapState;

/** The rows of one run in a range, in order, with one block in memory. */
class RunCursor implements Comparable {
  private final MapState blocks;
  private final Run run;
  private final byte[] low;
  private final byte[] high;
  private int at = -1;
  private ByteBuffer block;
  Weighted row;
  int blocksRead;

  RunCursor(MapState blocks, Run run, byte[] low, byte[] high) {
    this.blocks = blocks;
    this.run = run;
    this.low = low;
    this.high = high;
  }

  boolean advance() {
    while (true) {
      while (block == null || !block.hasRemaining()) if (!open()) return false;
      int weight = block.getInt();
      byte[] key = new byte[block.getInt()];
      block.get(key);
      if (high != Ranges.HIGHEST && Arrays.compareUnsigned(key, high) >= 0) return false;
      if (Arrays.compareUnsigned(key, low) >= 0) {
        row = new Weighted(key, weight);
        return true;
      }
    }
  }

  private boolean open() {
    at++;
    if (at == 0) at = firstThatMayHold();
    if (at >= run.zones.size() || run.zone(at).isAbove(high)) return false;
    block = ByteBuffer.wrap((byte[]) blocks.getValue(Long.valueOf(run.zone(at).block)));
    blocksRead++;
    return true;
  }

  private int firstThatMayHold() {
    int from = 0;
    int to = run.zones.size();
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (run.zone(middle).isBelow(low)) from = middle + 1;
      else to = middle;
    }
    return from;
  }

  public int compareTo(Object other) { return row.compareTo(((RunCursor) other).row); }
}
