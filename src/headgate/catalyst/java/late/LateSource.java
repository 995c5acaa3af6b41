package headgate.late;

import headgate.scan.Snapshot;
import java.util.HashMap;

/**
 * Where the late filters of one query come from; travels with each task and carries what had arrived by then.
 *
 * On the driver it holds the state itself. An executor finds its own state, and its own poller, through `LateStates`.
 */
public class LateSource implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  public final String query;
  public final String url;
  public final String token;
  public final int filters;
  public final int maxWaitMs;
  private final HashMap carried;
  private final boolean outdated;
  private final transient Snapshot snapshot;
  private transient LateState state;

  /** snapshot: what the filters are learned from; if it no longer holds, no filter ever arrives. */
  public LateSource(String query, String url, String token, int filters, int maxWaitMs, Snapshot snapshot) {
    this.snapshot = snapshot;
    this.carried = new HashMap();
    this.outdated = false;
    this.query = query;
    this.url = url;
    this.token = token;
    this.filters = filters;
    this.maxWaitMs = maxWaitMs;
    LateStates.thisIsTheDriver();
    this.state = LateStates.here(query);
  }

  private LateSource(LateSource source, HashMap carried, boolean outdated) {
    this.snapshot = null;
    this.carried = carried;
    this.outdated = outdated;
    this.query = source.query;
    this.url = source.url;
    this.token = source.token;
    this.filters = source.filters;
    this.maxWaitMs = source.maxWaitMs;
  }

  /** What the driver knows, whether or not the query may use it; null on executors. */
  LateState held() { return state; }

  /** The state of this process. On the driver, too, tests are evaluated: those of partitions, when files are listed. */
  public LateState state() {
    if (snapshot != null && !snapshot.holds()) return new LateState(query);
    LateState found = state;
    if (found == null) {
      found = outdated ? new LateState(query) : LateStates.joined(this);
      if (!outdated) found.arriveAll(carried);
      state = found;
    }
    return found;
  }

  /** What travels with a task: all that has arrived. (Janino hides private methods from Java's serialization.) */
  public Object writeReplace() {
    if (snapshot == null) return this;
    boolean current = snapshot.holds();
    return new LateSource(this, current ? state.snapshot() : new HashMap(), !current);
  }

  public boolean equals(Object other) { return other instanceof LateSource && ((LateSource) other).query.equals(query); }
  public int hashCode() { return query.hashCode(); }
}
