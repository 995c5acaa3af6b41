package headgate.scan;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FilePruningRunner;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * A file index that lists the files of one listing, or only those of them that survive; static pruning still happens.
 *
 * Without a snapshot (a build side at planning) it lists them at any time. With one it lists them if the tables of the
 * plan are what they were, and otherwise all that the other index lists now.
 */
public class PrunedFileIndex implements FileIndex {
  private final FileIndex all;
  private final FileListing listing;
  private final HashSet kept;
  private final long bytes;
  private final Snapshot snapshot;
  private final Narrowing narrowing;

  /** kept: the paths that survive, or null for all. narrowing: who is told what that leaves out, or null. */
  public PrunedFileIndex(FileListing listing, HashSet kept, long bytes, Snapshot snapshot, Narrowing narrowing) {
    this.narrowing = narrowing;
    this.all = listing.index;
    this.listing = listing;
    this.kept = kept;
    this.bytes = bytes;
    this.snapshot = snapshot;
  }

  public Seq rootPaths() { return all.rootPaths(); }
  public StructType partitionSchema() { return all.partitionSchema(); }
  public void refresh() { all.refresh(); }
  public long sizeInBytes() { return bytes; }
  public scala.Option metadataOpsTimeNs() { return all.metadataOpsTimeNs(); }
  /** What the query reads from, as Spark alone says it. */
  public String[] inputFiles() { return all.inputFiles(); }

  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    if (snapshot != null && !snapshot.holds()) return all.listFiles(partitionFilters, dataFilters);
    Expression[] tests;
    try {
      tests = bound(partitionFilters);
    } catch (RuntimeException unknown) {
      // a condition that only the other index understands; a file that it lists by now and planning did not know is kept
      return surviving(all.listFiles(partitionFilters, dataFilters));
    }
    FilePruningRunner byMetadata = new FilePruningRunner(dataFilters);
    List found = new ArrayList();
    long listed = 0L;
    for (int d = 0; d < listing.directories.size(); d++) {
      PartitionDirectory directory = (PartitionDirectory) listing.directories.get(d);
      if (!passes(tests, directory)) continue;
      PartitionDirectory asked = byMetadata.prune(directory);
      listed += asked.files().size();
      PartitionDirectory surviving = surviving(asked);
      if (surviving != null) found.add(surviving);
    }
    if (narrowing != null) tell(listed, found);
    return Seqs.of(found);
  }

  /** Counts what is left out of the files that the query asks for. */
  private void tell(long listed, List found) {
    long read = 0L;
    long unreadGroups = 0L;
    for (int d = 0; d < found.size(); d++) {
      scala.collection.Iterator each = ((PartitionDirectory) found.get(d)).files().iterator();
      for (; each.hasNext(); read++) unreadGroups += narrowing.groupsLeftOf(((FileStatusWithMetadata) each.next()).getPath().toString());
    }
    narrowing.listed(listed - read, unreadGroups);
  }

  /** Who is told what this index leaves out; null where it leaves out nothing. */
  public Narrowing narrowing() { return narrowing; }

  private Seq surviving(Seq listed) {
    List found = new ArrayList();
    scala.collection.Iterator each = listed.iterator();
    while (each.hasNext()) {
      PartitionDirectory surviving = surviving((PartitionDirectory) each.next());
      if (surviving != null) found.add(surviving);
    }
    return Seqs.of(found);
  }

  private static boolean passes(Expression[] tests, PartitionDirectory directory) {
    for (int i = 0; i < tests.length; i++) if (!Boolean.TRUE.equals(tests[i].eval(directory.values()))) return false;
    return true;
  }

  private PartitionDirectory surviving(PartitionDirectory directory) {
    if (kept == null) return directory;
    List files = new ArrayList();
    scala.collection.Iterator each = directory.files().iterator();
    while (each.hasNext()) {
      FileStatusWithMetadata file = (FileStatusWithMetadata) each.next();
      String path = file.getPath().toString();
      if (kept.contains(path) || !listing.knows(path)) files.add(file);
    }
    return files.isEmpty() ? null : new PartitionDirectory(directory.values(), Seqs.of(files));
  }

  private Expression[] bound(Seq conditions) {
    Expression[] tests = new Expression[conditions.size()];
    for (int i = 0; i < tests.length; i++) tests[i] = bound((Expression) conditions.apply(i));
    return tests;
  }

  /** A condition on partition columns, ready to be evaluated over the values of a partition. */
  private Expression bound(Expression condition) {
    if (condition instanceof Attribute) {
      StructType columns = all.partitionSchema();
      int place = columns.fieldIndex(((Attribute) condition).name());
      return new BoundReference(place, columns.fields()[place].dataType(), true);
    }
    List children = new ArrayList();
    scala.collection.Iterator each = condition.children().iterator();
    while (each.hasNext()) children.add(bound((Expression) each.next()));
    return children.isEmpty() ? condition : (Expression) condition.withNewChildren(Seqs.of(children));
  }

  /** Two scans may share their result only if they read the same files. */
  public boolean equals(Object other) {
    if (!(other instanceof PrunedFileIndex)) return false;
    PrunedFileIndex twin = (PrunedFileIndex) other;
    return twin.snapshot == snapshot && twin.all.equals(all) && (kept == null ? twin.kept == null : kept.equals(twin.kept));
  }

  public int hashCode() { return all.hashCode() * 31 + (kept == null ? 0 : kept.size()); }

  public String toString() { return kept == null ? "Headgate(" + all + ")" : "Headgate(" + kept.size() + " files of " + all + ")"; }
}
