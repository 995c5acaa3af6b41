package headgate.scan;

import headgate.interop.Subqueries;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Makes scans read the files that were listed at planning.
 *
 * A build side (no snapshot) reads all its tables so, those of its subqueries too. In the whole plan only the tables that
 * were looked at are concerned: a filter that was learned from a table must meet the same table when the query reads it.
 * Nothing is learned from a subquery of the whole plan: a build side with one is used only if its rows are kept.
 */
public class PinnedFiles extends Subqueries {
  private final Listings listings;
  private final Snapshot snapshot;

  public PinnedFiles(Listings listings, Snapshot snapshot) {
    this.listings = listings;
    this.snapshot = snapshot;
  }

  /** The same relation over other files. */
  public static LogicalRelation over(LogicalRelation plan, PrunedFileIndex index, FileFormat format, SparkSession session) {
    HadoopFsRelation files = KnownFiles.of(plan);
    HadoopFsRelation narrowed = new HadoopFsRelation(index, files.partitionSchema(), files.dataSchema(), files.bucketSpec(), format,
        files.options(), session);
    LogicalRelation result = new LogicalRelation(narrowed, plan.output(), plan.catalogTable(), plan.isStreaming(), plan.stream());
    result.copyTagsFrom(plan);
    return result;
  }

  /** A leaf that reads what was listed, or the leaf itself where that is nothing to us. */
  public LogicalPlan leaf(LogicalPlan leaf) {
    if (snapshot == null && leaf instanceof InMemoryRelation) remember((InMemoryRelation) leaf);
    HadoopFsRelation files = KnownFiles.of(leaf);
    if (files == null || !KnownFiles.isKnown(files.location()) || KnownFiles.isNarrowed(files.location())) {
      if (snapshot == null && !(leaf instanceof LocalRelation || leaf instanceof Range || leaf instanceof OneRowRelation)) listings.readsOther();
      return leaf;
    }
    if (snapshot != null && !listings.hold(files.location())) return leaf;
    FileListing listing = listings.of(files);
    PrunedFileIndex index = new PrunedFileIndex(listing, null, files.location().sizeInBytes(), snapshot, null);
    return over((LogicalRelation) leaf, index, files.fileFormat(), files.sparkSession());
  }

  /** Blocks of cached data that get lost are computed again, from files that have to be the same by then. */
  private void remember(InMemoryRelation cached) {
    listings.readsCache(cached);
    listAll(cached.cacheBuilder().logicalPlan(), true);
  }

  /** Lists every table of a plan, so that the snapshot speaks of all. */
  public void listAll(LogicalPlan plan) { listAll(plan, false); }

  private void listAll(LogicalPlan plan, boolean cached) {
    if (plan instanceof InMemoryRelation) remember((InMemoryRelation) plan);
    HadoopFsRelation files = KnownFiles.of(plan);
    if (files != null && KnownFiles.isKnown(files.location()) && !KnownFiles.isNarrowed(files.location())) {
      FileListing listing = listings.of(files);
      if (cached) listing.feedsCache();
    }
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) listAll((LogicalPlan) each.next(), cached);
    List inside = Subqueries.of(plan);
    for (int i = 0; i < inside.size(); i++) listAll((LogicalPlan) inside.get(i), cached);
  }

  /** Spark's own pruning of partitions borrows the broadcast of a join, so it must read the same as the join does. */
  protected LogicalPlan replace(LogicalPlan plan, boolean prunesPartitions) {
    return snapshot == null || prunesPartitions ? inTree(plan) : plan;
  }
}
