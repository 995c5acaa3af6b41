package headgate.scan;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * Whether the tables of a plan, and the settings by which they are read, are still what they were when the plan was made:
 * asked when it is executed, answered once.
 *
 * A plan may be executed long after it was made, and tables may be written in between. Whatever Headgate put into it
 * (fewer files, fewer row groups, row tests, collected rows, late filters) asks here first. If anything has changed, all
 * of it stands aside, and the plan does what Spark's own would do.
 */
public class Snapshot {
  private List listings;
  private List caches;
  private SessionSettings settings;
  private final boolean isEmpty;
  private Boolean holds;
  private final String[] outcome;

  /** readsOthers: whether anything was learned from tables of other kinds. outcome: one place for the sentence that says why the plan ran unfiltered; it outlives the plan. */
  Snapshot(Collection listings, List caches, boolean readsOthers, SessionSettings settings, String[] outcome) {
    this.listings = new ArrayList(listings);
    this.caches = new ArrayList(caches);
    this.isEmpty = listings.isEmpty() && caches.isEmpty() && !readsOthers;
    this.settings = settings;
    this.outcome = outcome;
  }

  /** Whether nothing was learned from a table, so that there is nothing that could change. */
  public boolean isEmpty() { return isEmpty; }

  public synchronized boolean holds() {
    if (holds == null) {
      String changed = changed();
      outcome[0] = changed;
      holds = Boolean.valueOf(changed == null);
      listings = null;
      caches = null;
      settings = null;
    }
    return holds.booleanValue();
  }

  /** Whether it was asked, and anything had changed. */
  synchronized boolean isBroken() { return holds != null && !holds.booleanValue(); }

  public String toString() { return "tables as they were"; }

  private String changed() {
    String setting = isEmpty ? null : settings.changed();
    if (setting != null) return "the setting " + setting + " changed after the query was planned";
    for (int i = 0; i < caches.size(); i++) {
      if (!((CachedRows) caches.get(i)).isCurrent()) return "cached data that a filter was learned from is no longer loaded";
    }
    for (int i = 0; i < listings.size(); i++) {
      FileListing listing = (FileListing) listings.get(i);
      try {
        if (!listing.isCurrent()) return "a table changed after the query was planned: " + listing.roots();
        if (!listing.isAsCached()) return "cached data that a filter was learned from is older than its files: " + listing.roots();
      } catch (Throwable unlisted) {
        // Spark's own listing will fail the same way, and says why
        return "a table can no longer be listed: " + unlisted;
      }
    }
    return null;
  }
}
