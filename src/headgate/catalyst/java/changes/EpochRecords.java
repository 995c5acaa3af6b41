package headgate.changes;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.util.AccumulatorV2;

/** What one operator did in its last epochs, added up over its vnodes; tasks report through Spark's accumulators. */
public class EpochRecords extends AccumulatorV2 {
  private static final int REMEMBERED = 100;
  private final LinkedHashMap records = new LinkedHashMap();  // query and batch -> vnode -> EpochRecord, oldest first
  private final String operator;
  private transient boolean isReported;  // only where it was made, in the driver

  public EpochRecords(String operator) {
    super();
    this.operator = operator;
  }

  /** Tell the report what comes. */
  public EpochRecords reported() {
    isReported = true;
    return this;
  }

  /** The last record of a vnode counts: a batch may be run again, and a sink may ask for its rows twice. */
  public synchronized void add(Object record) {
    EpochRecord one = (EpochRecord) record;
    String key = one.query + " " + one.batch;
    Map vnodes = (Map) records.get(key);
    if (vnodes == null) {
      vnodes = new LinkedHashMap();
      records.put(key, vnodes);
    }
    vnodes.put(Integer.valueOf(one.vnode), one);
    if (records.size() > REMEMBERED) records.remove(records.keySet().iterator().next());
    if (isReported) MoveLogs.add(id(), operator, one);
  }

  public synchronized boolean isZero() { return records.isEmpty(); }
  public synchronized void reset() { records.clear(); }

  public synchronized AccumulatorV2 copy() {
    EpochRecords twin = new EpochRecords(operator);
    twin.merge(this);
    return twin;
  }

  public void merge(AccumulatorV2 other) {
    List theirs = ((EpochRecords) other).taken();
    for (int i = 0; i < theirs.size(); i++) add(theirs.get(i));
  }

  synchronized List taken() {
    List all = new ArrayList();
    for (Iterator batches = records.values().iterator(); batches.hasNext();) all.addAll(((Map) batches.next()).values());
    return all;
  }

  /** The epochs of a query, each added up over its vnodes, oldest first. */
  private List epochs(String query) {
    List found = new ArrayList();
    for (Iterator batches = records.values().iterator(); batches.hasNext();) {
      EpochRecord sum = EpochRecord.sum(((Map) batches.next()).values());
      if (sum.query.equals(query)) found.add(sum);
    }
    return found;
  }

  /** How many vnodes had more to tell at the end of a query's last epoch. */
  public synchronized long pending(String query) {
    EpochRecord last = lastOf(query);
    return last == null ? 0L : last.vnodesPending;
  }

  /** The last epoch of a query, or null. */
  synchronized EpochRecord lastOf(String query) {
    EpochRecord last = null;
    List epochs = epochs(query);
    for (int i = 0; i < epochs.size(); i++) {
      EpochRecord each = (EpochRecord) epochs.get(i);
      if (last == null || each.batch > last.batch) last = each;
    }
    return last;
  }

  public synchronized Object value() { return Long.valueOf(records.size()); }
}
