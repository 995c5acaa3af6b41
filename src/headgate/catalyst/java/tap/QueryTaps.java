package headgate.tap;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** The taps in the plan of one query, by filter. */
public class QueryTaps {
  private final Taps taps;
  private final Map keys = new HashMap();
  private final Map ends = new HashMap();

  public QueryTaps(Taps taps) { this.taps = taps; }

  void add(String filter, TapKeys noted) {
    keys.put(filter, noted);
    ends.put(filter, taps.expect(noted));
  }

  /** The filters whose build sides are tapped in the plan that was written. */
  public List filters() { return new ArrayList(keys.keySet()); }

  /** Waits for a tap; hands over what it has collected, or null when it still collects. */
  public String await(String filter, long millis) throws Exception {
    return Taps.await((TapKeys) keys.get(filter), (CountDownLatch) ends.get(filter), millis);
  }

  public void forget(String filter) { taps.forget((TapKeys) keys.get(filter)); }
}
