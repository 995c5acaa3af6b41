package headgate;

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
  private HashMap carried = new HashMap();
  private transient LateState state;

  public LateSource(String query, String url, String token, int filters, int maxWaitMs) {
    this.query = query;
    this.url = url;
    this.token = token;
    this.filters = filters;
    this.maxWaitMs = maxWaitMs;
    LateStates.thisIsTheDriver();
    this.state = LateStates.here(query);
  }

  /** The state of this process. */
  public LateState state() {
    LateState found = state;
    if (found == null) {
      found = LateStates.joined(this);
      found.arriveAll(carried);
      state = found;
    }
    return found;
  }

  private void writeObject(java.io.ObjectOutputStream out) throws java.io.IOException {
    carried = state().snapshot();
    out.defaultWriteObject();
  }

  public boolean equals(Object other) { return other instanceof LateSource && ((LateSource) other).query.equals(query); }
  public int hashCode() { return query.hashCode(); }
}
