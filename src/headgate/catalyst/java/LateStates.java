package headgate;

import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;

/** The late filters known in this process, by query. A state lives as long as a plan or a task holds it. */
public class LateStates {
  private static final ConcurrentHashMap states = new ConcurrentHashMap();
  private static volatile boolean driver = false;

  /** Said where sources are made. Filters are brought to the driver's process directly, so it does not ask for them. */
  static void thisIsTheDriver() { driver = true; }

  public static LateState here(String query) {
    synchronized (states) {
      WeakReference held = (WeakReference) states.get(query);
      LateState found = held == null ? null : (LateState) held.get();
      if (found == null) {
        found = new LateState(query);
        states.put(query, new WeakReference(found));
      }
      return found;
    }
  }

  /** The state of a query on an executor, which asks the coordinator for news as long as it is in use. */
  public static LateState joined(LateSource source) {
    synchronized (states) {
      LateState found = here(source.query);
      if (!driver) LatePoller.ensure(source, found);
      return found;
    }
  }

  /** Called on the driver when a filter is complete; a query that nobody holds any more is not kept alive by it. */
  public static void publish(String query, String filter, String json) {
    WeakReference held = (WeakReference) states.get(query);
    LateState found = held == null ? null : (LateState) held.get();
    if (found != null) found.arrive(filter, json);
  }

  public static void forget(String query) { states.remove(query); }

}
