package headgate.late;

import java.lang.ref.WeakReference;
import java.util.LinkedList;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The late filters known in this process, by query. A state lives as long as a plan or a task holds it.
 *
 * Between two tasks of a query an executor has neither, so it holds the states that it used last: without them the
 * next task would begin with what had arrived when its stage was submitted.
 */
public class LateStates {
  private static final ConcurrentHashMap states = new ConcurrentHashMap();
  private static final LinkedList recent = new LinkedList();
  private static final int HELD = 8;
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
      if (!driver) {
        hold(found);
        LatePoller.ensure(source, found);
      }
      return found;
    }
  }

  private static void hold(LateState used) {
    recent.remove(used);
    recent.addFirst(used);
    if (recent.size() > HELD) recent.removeLast();
  }

  /** Called on the driver with each version of a filter; a query that nobody holds any more is not kept alive by it. */
  public static void publish(String query, String filter, String version, Boolean complete, String json) {
    WeakReference held = (WeakReference) states.get(query);
    LateState found = held == null ? null : (LateState) held.get();
    if (found != null) found.arrive(filter, Long.parseLong(version), complete.booleanValue(), json);
  }
}
