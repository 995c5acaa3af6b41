package headgate.changes;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The last epochs of one operator of a query, vnode by vnode. */
class OperatorLog implements Comparable {
  private static final int REMEMBERED = 100;
  final String name;
  long operator;
  String run = "";
  private final TreeMap batches = new TreeMap();  // number -> vnode -> EpochRecord
  private final Map before = new HashMap();  // vnode -> how many rows it kept before the first of the batches

  OperatorLog(String name) { this.name = name; }

  /** The last record of a vnode counts: a sink may ask for the rows of a batch twice. A restart may run a batch again. */
  void add(EpochRecord record) {
    Long number = Long.valueOf(record.batch);
    if (!record.run.equals(run)) batches.tailMap(number).clear();
    run = record.run;
    Map vnodes = (Map) batches.get(number);
    if (vnodes == null) {
      vnodes = new HashMap();
      batches.put(number, vnodes);
    }
    vnodes.put(Integer.valueOf(record.vnode), record);
    if (batches.size() > REMEMBERED) keptBy((Map) batches.pollFirstEntry().getValue(), before);
  }

  /** The epochs as the report tells them; a vnode without input keeps the rows that it kept before. */
  List toMaps() {
    List found = new ArrayList();
    Map kept = new HashMap(before);
    for (Iterator all = batches.values().iterator(); all.hasNext();) {
      Map vnodes = (Map) all.next();
      keptBy(vnodes, kept);
      EpochRecord sum = EpochRecord.sum(vnodes.values());
      sum.rowsKept = 0L;
      for (Iterator rows = kept.values().iterator(); rows.hasNext();) sum.rowsKept += ((Long) rows.next()).longValue();
      found.add(sum.toMap(name));
    }
    return found;
  }

  private static void keptBy(Map vnodes, Map kept) {
    for (Iterator all = vnodes.values().iterator(); all.hasNext();) {
      EpochRecord each = (EpochRecord) all.next();
      kept.put(Integer.valueOf(each.vnode), Long.valueOf(each.rowsKept));
    }
  }

  public int compareTo(Object other) { return Long.compare(operator, ((OperatorLog) other).operator); }
}
