package headgate.scan;

import org.apache.spark.sql.execution.columnar.CachedRDDBuilder;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;

/** The cached rows that a build side reads: those of one loading, since the next one may read other files. */
class CachedRows {
  private static final int NOT_LOADED = -1;
  final InMemoryRelation relation;
  private final int loading;

  CachedRows(InMemoryRelation relation) {
    this.relation = relation;
    this.loading = loading(relation.cacheBuilder());
  }

  /** Whether the rows are still the ones that were there at first; where they were dropped, a query may load them again. */
  boolean isCurrent() { return loading != NOT_LOADED && loading == loading(relation.cacheBuilder()); }

  private static int loading(CachedRDDBuilder builder) {
    synchronized (builder) {  // as its own methods do: in between, it might be cleared
      return builder.isCachedColumnBuffersLoaded() ? builder.cachedColumnBuffers().id() : NOT_LOADED;
    }
  }
}
