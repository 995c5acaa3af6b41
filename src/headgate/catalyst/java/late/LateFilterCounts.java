package headgate.late;

import org.apache.spark.util.AccumulatorV2;

/** What late filters did, by filter number: added up over the tasks that succeeded. Times are wall-clock milliseconds. */
public class LateFilterCounts extends AccumulatorV2 {
  private static final int FIELDS = 5;
  private static final int ROWS = 0;
  private static final int OPENED_BEFORE = 1;
  private static final int OPENED_CUT_OFF = 2;
  private static final int RECEIVED = 3;
  private static final int APPLIED = 4;
  private final long[] counted;
  private final LateUnread unread = new LateUnread();

  public LateFilterCounts(int filters) {
    super();
    this.counted = new long[filters * FIELDS];
  }

  public LateUnread unread() { return unread; }

  /** cutOff: whether this executor cannot reach the coordinator. */
  public void openedBefore(int filter, boolean cutOff) {
    counted[filter * FIELDS + OPENED_BEFORE]++;
    if (cutOff) counted[filter * FIELDS + OPENED_CUT_OFF]++;
  }

  /** A task has the filter, whether or not it removes something. */
  public void arrived(int filter, long receivedAt) {
    int at = filter * FIELDS + RECEIVED;
    if (counted[at] == 0L) counted[at] = receivedAt;
  }

  /** Called for each row, so only the first call looks at the clock. */
  public void rowDropped(int filter, long receivedAt) {
    int at = filter * FIELDS;
    if (counted[at + APPLIED] == 0L) applied(at, receivedAt);
    counted[at + ROWS]++;
  }

  /** Files and row groups are counted in `unread`. */
  public void removed(int filter, long receivedAt) {
    int at = filter * FIELDS;
    if (counted[at + APPLIED] == 0L) applied(at, receivedAt);
  }

  private void applied(int at, long receivedAt) {
    if (counted[at + RECEIVED] == 0L) counted[at + RECEIVED] = receivedAt;
    counted[at + APPLIED] = System.currentTimeMillis();
  }

  /** The rows that a filter dropped, in all scans. */
  public long rows(int filter) { return counted[filter * FIELDS + ROWS]; }

  public boolean isZero() {
    for (int i = 0; i < counted.length; i++) if (counted[i] != 0L) return false;
    return unread.isEmpty();
  }

  /** Each task takes an empty one with it; copying what is counted so far would cost more than the task's own counts. */
  public AccumulatorV2 copyAndReset() { return new LateFilterCounts(counted.length / FIELDS); }

  public AccumulatorV2 copy() {
    LateFilterCounts twin = new LateFilterCounts(counted.length / FIELDS);
    System.arraycopy(counted, 0, twin.counted, 0, counted.length);
    twin.unread.addAll(unread);
    return twin;
  }

  public void reset() {
    java.util.Arrays.fill(counted, 0L);
    unread.clear();
  }

  public void add(Object ignored) { throw new UnsupportedOperationException("late filters are counted by name"); }

  public void merge(AccumulatorV2 other) {
    long[] theirs = ((LateFilterCounts) other).counted;
    unread.addAll(((LateFilterCounts) other).unread);
    for (int i = 0; i < counted.length; i++) {
      int field = i % FIELDS;
      if (field < RECEIVED) counted[i] += theirs[i];
      else if (theirs[i] != 0L && (counted[i] == 0L || theirs[i] < counted[i])) counted[i] = theirs[i];
    }
  }

  /** rows, opened before, of these cut off, received, first applied: five numbers for each filter. */
  public Object value() {
    java.util.ArrayList all = new java.util.ArrayList();
    for (int i = 0; i < counted.length; i++) all.add(Long.valueOf(counted[i]));
    return all;
  }
}
