package headgate.scan;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/** What one query has looked at: the listings of its tables, and the cached data that its build sides read. */
public class Listings {
  private final Map listings = new IdentityHashMap();
  private final List caches = new ArrayList();
  private final String[] outcome = new String[1];
  private final SessionSettings settings;
  private boolean readsOthers = false;
  private Snapshot snapshot;

  public Listings(SparkSession session) { this.settings = new SessionSettings(session); }

  /** The files of a relation: listed once for each index, so that all that is learned of a table is of one moment. */
  public synchronized FileListing of(HadoopFsRelation files) {
    FileListing found = (FileListing) listings.get(files.location());
    if (found == null) {
      found = new FileListing(files);
      listings.put(files.location(), found);
    }
    return found;
  }

  synchronized boolean hold(FileIndex index) { return listings.containsKey(index); }

  /** Notes cached data that a build side reads. */
  synchronized void readsCache(InMemoryRelation cached) {
    for (int i = 0; i < caches.size(); i++) if (((CachedRows) caches.get(i)).relation == cached) return;
    caches.add(new CachedRows(cached));
  }

  /** Notes that a build side reads a table of another kind. */
  synchronized void readsOther() { readsOthers = true; }

  /** What the plan that is written depends on: every table that was looked at. */
  public synchronized Snapshot snapshot() {
    if (snapshot == null) snapshot = new Snapshot(listings.values(), caches, readsOthers, settings, outcome);
    return snapshot;
  }

  /** Why the plan ran unfiltered although it has filters, or null. */
  public String outdated() { return outcome[0]; }

  /** Lets go of all but the outcome. */
  public synchronized void forget() {
    listings.clear();
    caches.clear();
    snapshot = null;
  }
}
