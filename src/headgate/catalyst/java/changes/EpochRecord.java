package headgate.changes;

import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/** What one operator did in one epoch: numbers, and the value before and after. */
class EpochRecord implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  final String query;
  final String run;
  final long batch;
  final int vnode;  // whose tasks may run more than once in a batch
  String before = "none";
  String after = "none";
  byte[] afterCode;
  long leftRows;
  long movedIn;
  long movedOut;
  long rowsKept;
  long blocksRead;
  long scanNanos;
  long vnodesPending;

  EpochRecord(String query, String run, long batch, int vnode) {
    this.query = query;
    this.run = run;
    this.batch = batch;
    this.vnode = vnode;
  }

  void add(EpochRecord other) {
    before = other.before;
    after = other.after;
    afterCode = other.afterCode;
    leftRows += other.leftRows;
    movedIn += other.movedIn;
    movedOut += other.movedOut;
    rowsKept += other.rowsKept;
    blocksRead += other.blocksRead;
    scanNanos += other.scanNanos;
    vnodesPending += other.vnodesPending;
  }

  Map toMap(String operator) {
    Map out = new LinkedHashMap();
    out.put("operator", operator);
    out.put("batchId", Long.valueOf(batch));
    out.put("before", before);
    out.put("after", after);
    out.put("leftRows", Long.valueOf(leftRows));
    out.put("movedIn", Long.valueOf(movedIn));
    out.put("movedOut", Long.valueOf(movedOut));
    out.put("rowsKept", Long.valueOf(rowsKept));
    out.put("blocksRead", Long.valueOf(blocksRead));
    out.put("scanMicros", Long.valueOf(scanNanos / 1000L));
    out.put("vnodesPending", Long.valueOf(vnodesPending));
    return out;
  }

  /** An epoch added up over vnodes, of which there is at least one. */
  static EpochRecord sum(Collection vnodes) {
    EpochRecord sum = null;
    for (Iterator all = vnodes.iterator(); all.hasNext();) {
      EpochRecord each = (EpochRecord) all.next();
      if (sum == null) sum = new EpochRecord(each.query, each.run, each.batch, each.vnode);
      sum.add(each);
    }
    return sum;
  }
}
