package headgate.changes;

import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.Row;

/** The way from what has been told to what should be: the rows between, in order; all of them, or a piece. */
class MovePieces {
  private final OrderedRows stored;
  private final Ranges from;
  private final Ranges to;
  private final Ranges way;
  private final long limit;
  private int at = -1;
  private RunMerge rows;
  private Weighted row;
  private int copies;
  private long in;
  private long out;
  private long blocksRead;
  private byte[] cut;

  MovePieces(OrderedRows stored, Ranges from, Ranges to, long limit) {
    this.stored = stored;
    this.from = from;
    this.to = to;
    this.way = from.minus(to).or(to.minus(from));
    this.limit = limit;
  }

  /** The next change, or null at the end of the way or of the piece. */
  Row next() throws IOException {
    if (copies == 0 && !advance()) return null;
    boolean comes = to.contains(row.key) == row.weight > 0;
    copies--;
    if (comes) in++;
    else out++;
    return Change.row(comes ? Change.INSERT : Change.DELETE, row.key);
  }

  private boolean advance() throws IOException {
    if (limit > 0 && in + out >= limit) {
      cut = Arrays.copyOf(row.key, row.key.length + 1);
      return false;
    }
    while (true) {
      if (rows == null) {
        at++;
        if (at >= way.size()) return false;
        rows = stored.in(way.low(at), way.high(at));
      }
      row = rows.next();
      if (row != null) {
        copies = Math.abs(row.weight);
        return true;
      }
      blocksRead += rows.blocksRead;
      rows = null;
    }
  }

  boolean isCut() { return cut != null; }
  long in() { return in; }
  long out() { return out; }
  long blocksRead() { return blocksRead; }

  /** What has been told now: up to the cut as it should be, behind it as it was. */
  Ranges told() {
    if (cut == null) return to;
    Ranges done = Ranges.of(Ranges.LOWEST, cut);
    return to.and(done).or(from.minus(done));
  }
}
