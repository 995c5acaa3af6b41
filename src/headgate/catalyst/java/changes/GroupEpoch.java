package headgate.changes;

import headgate.interop.Rethrow;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;

/** One group in one batch: what it held, what the batch brings, and at the end what has to be told of it. */
class GroupEpoch {
  private static final byte VERSION = 1;
  private final GroupTotals operator;
  private final Totals totals;
  private final ExactSum[] sums;
  private final ValueCounts values;
  private long rows;
  private byte[] told;  // the row of totals that was told last; null where the group is not there

  GroupEpoch(GroupTotals operator) {
    this.operator = operator;
    this.totals = operator.totals;
    this.sums = new ExactSum[totals.each.length];
    this.values = new ValueCounts(totals, operator.values);
    for (int i = 0; i < sums.length; i++) sums[i] = new ExactSum();
    try {
      byte[] head = (byte[]) operator.head.get();
      if (head != null) load(head);
    } catch (IOException failure) {
      Rethrow.raise(failure);
    }
  }

  /** Take one change: its kind, and the inputs. */
  void take(InternalRow change) {
    int weight = Change.weight((byte) change.getInt(0));
    rows += weight;
    for (int i = 0; i < totals.each.length; i++) {
      Total total = totals.each[i];
      if (total.input < 0 || total.isExtreme() || change.isNullAt(total.input + 1)) continue;
      Object value = change.get(total.input + 1, total.of);
      if (!Boolean.FALSE.equals(value)) total.add(sums[i], value, weight);
    }
    for (int i = 0; i < totals.ordered.length; i++)
      if (totals.ordered[i] && !change.isNullAt(i + 1)) values.add(i, OrderCode.of(change.get(i + 1, totals.inputs[i]), totals.inputs[i]), weight);
  }

  /** Settle the batch; return the changes, as rows of operation, key and totals. */
  List end(byte[] key) {
    values.settle();
    byte[] now = rows > 0L || totals.global ? packed() : null;
    List changes = new ArrayList();
    if (told == null && now != null) changes.add(change(Change.INSERT, key, now));
    if (told != null && now == null) changes.add(change(Change.DELETE, key, told));
    if (told != null && now != null && !Arrays.equals(told, now)) {
      changes.add(change(Change.UPDATE_BEFORE, key, told));
      changes.add(change(Change.UPDATE_AFTER, key, now));
    }
    told = now;
    save();
    return changes;
  }

  private static Row change(byte kind, byte[] key, byte[] row) { return RowFactory.create(new Object[] {Integer.valueOf(kind), key, row}); }

  private byte[] packed() {
    Object[] made = new Object[totals.each.length];
    boolean empty = rows <= 0L;  // also where more was taken away than was there
    for (int i = 0; i < made.length; i++)
      made[i] = empty ? totals.each[i].value(0L, new ExactSum(), null) : totals.each[i].value(rows, sums[i], values.extreme(i));
    return (byte[]) operator.packing.apply(new GenericInternalRow(made));
  }

  private boolean isNothing() {
    boolean nothing = rows == 0L && told == null && values.areNone();
    for (int i = 0; i < sums.length; i++) nothing = nothing && sums[i].isNothing();
    return nothing;
  }

  private void load(byte[] bytes) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
    byte version = in.readByte();
    if (version != VERSION) throw new IllegalStateException("The state of the totals was written in form " + version + ", and this version of Headgate reads form " + VERSION + ".");
    if (in.readInt() != totals.text.hashCode()) throw new IllegalStateException("The checkpoint holds other totals than " + totals.text + ": start the query with a new checkpoint.");
    rows = in.readLong();
    told = Bytes.read(in);
    for (int i = 0; i < sums.length; i++) sums[i].read(in);
    values.read(in);
  }

  private void save() {
    if (isNothing()) {
      operator.head.clear();
      return;
    }
    try {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      DataOutputStream out = new DataOutputStream(bytes);
      out.writeByte(VERSION);
      out.writeInt(totals.text.hashCode());
      out.writeLong(rows);
      Bytes.write(out, told);
      for (int i = 0; i < sums.length; i++) sums[i].write(out);
      values.write(out);
      operator.head.update(bytes.toByteArray());
    } catch (IOException failure) {
      Rethrow.raise(failure);
    }
  }
}
