package headgate.plan;

import headgate.late.GatedParquet;
import headgate.scan.Narrowing;
import java.lang.ref.WeakReference;
import java.util.List;
import org.apache.spark.sql.execution.metric.SQLMetricInfo;
import org.apache.spark.util.AccumulatorContext$;

/** One narrowed scan as Spark's SQL tab shows it: metrics of our own, and where their values come from. Its plan is free to go. */
class ShownScan {
  private static final String[] NAMES = {"headgate: files skipped", "headgate: row groups skipped", "headgate: rows removed"};
  static final int METRICS = 3;
  private final WeakReference narrowing;
  private final WeakReference gated;
  private final long[] ids = new long[METRICS];
  final String filters;

  /** gated: how the scan is read where late filters may come, else null. */
  ShownScan(Narrowing narrowing, GatedParquet gated) {
    this.narrowing = new WeakReference(narrowing);
    this.gated = new WeakReference(gated);
    this.filters = narrowing.filters.toString();
    for (int i = 0; i < METRICS; i++) ids[i] = AccumulatorContext$.MODULE$.newId();
  }

  void addTo(List metrics) { for (int i = 0; i < METRICS; i++) metrics.add(new SQLMetricInfo(NAMES[i], ids[i], "sum")); }

  long id(int metric) { return ids[metric]; }

  /** Whether a late filter of this scan goes to another one as well: then nobody knows whose rows it dropped. */
  boolean sharesFilters(ShownScan other) {
    GatedParquet ours = (GatedParquet) gated.get();
    GatedParquet theirs = (GatedParquet) other.gated.get();
    if (ours == null || theirs == null || ours == theirs || ours.counts() != theirs.counts()) return false;
    int[] numbers = ours.numbers();
    int[] others = theirs.numbers();
    for (int i = 0; i < numbers.length; i++) for (int j = 0; j < others.length; j++) if (numbers[i] == others[j]) return true;
    return false;
  }

  /** What planning left out; null when nobody knows any more. */
  long[] planned() {
    Narrowing known = (Narrowing) narrowing.get();
    return known == null ? null : new long[] {known.files(), known.rowGroups(), 0L};
  }

  /** What late filters have left out so far; null where there are none, or what they did is no longer kept. */
  long[] late(boolean withRows) {
    GatedParquet known = (GatedParquet) gated.get();
    if (known == null || known.counts().unread().isEmpty()) return null;
    long[] unread = known.unread();
    long rows = 0L;
    int[] numbers = known.numbers();
    for (int i = 0; withRows && i < numbers.length; i++) rows += known.counts().rows(numbers[i]);
    return new long[] {unread[0], unread[1], rows};
  }
}
