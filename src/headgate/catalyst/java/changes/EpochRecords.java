package headgate.changes;

import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Handover;
import java.lang.ref.WeakReference;
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

  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final List ALL = new ArrayList();  // those that were registered in this driver
  private final String operator;

  public EpochRecords(String operator) {
    super();
    this.operator = operator;
  }

  /** Remember these for the report, for as long as their operator lives. */
  public EpochRecords listed() {
    synchronized (ALL) {
      ALL.add(new WeakReference(this));
    }
    return this;
  }

  /** What the operators of a query did in its last epochs, as JSON. */
  public static String read(String query) throws Exception {
    List found = new ArrayList();
    synchronized (ALL) {
      for (int i = ALL.size() - 1; i >= 0; i--) {
        EpochRecords records = (EpochRecords) ((WeakReference) ALL.get(i)).get();
        if (records == null) ALL.remove(i);
        else found.addAll(0, records.of(query));
      }
    }
    return Handover.of(MAPPER.writeValueAsBytes(found));
  }

  private synchronized List of(String query) {
    List found = new ArrayList();
    List epochs = epochs(query);
    for (int i = 0; i < epochs.size(); i++) found.add(((EpochRecord) epochs.get(i)).toMap(operator));
    return found;
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
      EpochRecord sum = null;
      for (Iterator vnodes = ((Map) batches.next()).values().iterator(); vnodes.hasNext();) {
        EpochRecord each = (EpochRecord) vnodes.next();
        if (sum == null) sum = each.copied();
        else sum.add(each);
      }
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
