package headgate.scan;

/** A small open-addressing set of longs: no boxing on the way in. */
public class LongSet {
  private long[] slots = new long[16];
  private boolean[] used = new boolean[16];
  private int size;

  public int size() { return size; }

  public void add(long value) {
    int at = find(slots, used, value);
    if (used[at]) return;
    slots[at] = value;
    used[at] = true;
    if (++size * 2 > slots.length) grow();
  }

  public boolean contains(long value) { return used[find(slots, used, value)]; }

  private static int find(long[] slots, boolean[] used, long value) {
    long hash = value * 0x9E3779B97F4A7C15L;
    int at = (int) (hash >>> 32) & (slots.length - 1);
    while (used[at] && slots[at] != value) at = (at + 1) & (slots.length - 1);
    return at;
  }

  private void grow() {
    long[] wider = new long[slots.length * 2];
    boolean[] taken = new boolean[wider.length];
    for (int i = 0; i < slots.length; i++) {
      if (!used[i]) continue;
      int at = find(wider, taken, slots[i]);
      wider[at] = slots[i];
      taken[at] = true;
    }
    slots = wider;
    used = taken;
  }

  public long[] values() {
    long[] found = new long[size];
    int n = 0;
    for (int i = 0; i < slots.length; i++) if (used[i]) found[n++] = slots[i];
    return found;
  }
}
