package headgate.changes;

import headgate.interop.Rethrow;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Arrays;
import org.apache.spark.sql.Row;

/**
 * One epoch of one vnode, as the changes that leave it.
 *
 * Left rows are judged by what has been told, which is the committed value unless a move is still under way. Then the right
 * value is settled, and the rows between what has been told and what should be are told, in order, once.
 */
class MovingEpoch extends scala.collection.AbstractIterator {
  private static final int VERSION = 1;
  private final MovingFilter filter;
  private final EpochRecord record;
  private final OrderedRows stored;
  private final RightValue right;
  private final UpdatePairs updates = new UpdatePairs();
  private final ArrayDeque changes = new ArrayDeque();
  private scala.collection.Iterator rows;
  private Ranges told = Ranges.NONE;
  private MovePieces move;
  private byte[] committed;
  private long started;

  MovingEpoch(MovingFilter filter, int vnode, scala.collection.Iterator rows, EpochRecord record) {
    this.filter = filter;
    this.rows = rows;
    this.record = record;
    this.stored = new OrderedRows(filter.blocks, filter.zones, vnode, filter.blockBytes, filter.freshBytes);
    this.right = new RightValue(filter.name, filter.ordered);
    try {
      load();
    } catch (IOException failure) {
      Rethrow.raise(failure);
    }
  }

  public boolean hasNext() {
    try {
      while (changes.isEmpty() && rows != null) {
        if (rows.hasNext()) take((byte[]) ((Row) rows.next()).get(1));
        else endOfInput();
      }
      if (changes.isEmpty() && move != null) moveOn();
    } catch (IOException failure) {
      Rethrow.raise(failure);
    }
    return !changes.isEmpty();
  }

  public Object next() {
    if (!hasNext()) throw new java.util.NoSuchElementException();
    return changes.poll();
  }

  private void take(byte[] packed) throws IOException {
    byte kind = Change.kind(packed[0]);
    if (kind == Change.TICK) return;
    if (kind >= Change.RIGHT_IN) {
      right.take(kind, ByteBuffer.wrap(packed, 1, packed.length - 1));
      return;
    }
    int from = 5 + ByteBuffer.wrap(packed).getInt(1);
    byte[] row = Arrays.copyOfRange(packed, from, packed.length);
    record.leftRows++;
    boolean shown = Change.isShown(packed[0]);
    if (!shown && !stored.isDropped(row)) stored.add(row, Change.weight(kind));
    boolean passes = shown || told.contains(row);
    if (!Change.isUpdate(kind)) {
      if (passes) changes.add(Change.row(kind, row));
      return;
    }
    UpdatePairs.Half half = new UpdatePairs.Half(kind, row, passes);
    UpdatePairs.Half other = updates.match(Arrays.copyOfRange(packed, 5, from), half);
    if (other != null) update(kind == Change.UPDATE_BEFORE ? half : other, kind == Change.UPDATE_BEFORE ? other : half);
  }

  private void update(UpdatePairs.Half before, UpdatePairs.Half after) {
    if (before.passes && after.passes && Arrays.equals(before.row, after.row)) return;
    if (before.passes) changes.add(Change.row(after.passes ? Change.UPDATE_BEFORE : Change.DELETE, before.row));
    if (after.passes) changes.add(Change.row(before.passes ? Change.UPDATE_AFTER : Change.INSERT, after.row));
  }

  private void endOfInput() throws IOException {
    for (UpdatePairs.Half half = updates.left(); half != null; half = updates.left())
      if (half.passes) changes.add(Change.row(half.kind == Change.UPDATE_BEFORE ? Change.DELETE : Change.INSERT, half.row));
    rows = null;
    right.settle();
    if (filter.moves.equals(OneWay.HELD)) right.holdUp();
    OneWay.check(filter, record.before, committed, right);
    record.after = right.text();
    record.afterCode = right.code();
    started = System.nanoTime();
    move = new MovePieces(stored, told, filter.comparison.passing(right.code()), filter.pieceRows);
  }

  private void moveOn() throws IOException {
    Row change = move.next();
    if (change != null) {
      changes.add(change);
      return;
    }
    told = move.told();
    if (!move.isCut() && !filter.moves.equals("both")) stored.drop(filter.comparison.settled(right.code(), !filter.moves.equals("down")));
    save();
    record.movedIn = move.in();
    record.movedOut = move.out();
    record.blocksRead = move.blocksRead();
    record.scanNanos = System.nanoTime() - started;
    record.rowsKept = stored.weight();
    record.vnodesPending = move.isCut() ? 1 : 0;
    filter.records.add(record);
    move = null;
  }

  private void load() throws IOException {
    if (!filter.head.exists()) return;
    DataInputStream in = new DataInputStream(new ByteArrayInputStream((byte[]) filter.head.get()));
    int version = in.readInt();
    if (version != VERSION) throw new IllegalStateException("The state of " + filter.name + " was written in form " + version + ", and this version of Headgate reads form " + VERSION + ".");
    String kept = Bytes.readText(in);
    String promise = Bytes.readText(in);
    if (!kept.equals(filter.kept)) throw new IllegalStateException("The checkpoint holds state for " + kept + ", and the query is now for " + filter.kept + ": start it with a new checkpoint.");
    right.read(in);
    told = Ranges.read(in);
    stored.read(in);
    if (stored.hasDropped() && !promise.equals(filter.promise()))
      throw new IllegalStateException("The checkpoint was written with " + promise + ", and rows were forgotten that " + filter.promise() + " would need: start the query with a new checkpoint.");
    committed = right.code();
    record.before = right.text();
  }

  private void save() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(VERSION);
    Bytes.writeText(out, filter.kept);
    Bytes.writeText(out, filter.promise());
    right.write(out);
    told.write(out);
    stored.write(out);
    filter.head.update(bytes.toByteArray());
  }
}
