package headgate.tap;

import java.util.ArrayList;
import org.apache.spark.util.AccumulatorV2;

/** The keys that the tasks of a tapped stage have seen: one packed domain for each task that had any. */
public class TapKeys extends AccumulatorV2 {
  private final ArrayList packed = new ArrayList();

  public TapKeys() { super(); }

  public synchronized void add(Object domain) { packed.add(domain); }
  public synchronized boolean isZero() { return packed.isEmpty(); }
  public synchronized void reset() { packed.clear(); }

  public synchronized AccumulatorV2 copy() {
    TapKeys twin = new TapKeys();
    twin.packed.addAll(packed);
    return twin;
  }

  public synchronized void merge(AccumulatorV2 other) { packed.addAll(((TapKeys) other).taken()); }
  synchronized ArrayList taken() { return new ArrayList(packed); }

  /** The number of tasks that reported; keys do not belong in a web page or a log. */
  public synchronized Object value() { return Long.valueOf(packed.size()); }
}
