package headgate;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/** A file index that lists only the surviving files of another; static pruning by the other index still happens. */
public class PrunedFileIndex implements FileIndex {
  private final FileIndex all;
  private final HashSet kept;
  private final long bytes;

  public PrunedFileIndex(FileIndex all, HashSet kept, long bytes) {
    this.all = all;
    this.kept = kept;
    this.bytes = bytes;
  }

  public Seq rootPaths() { return all.rootPaths(); }
  public StructType partitionSchema() { return all.partitionSchema(); }
  public void refresh() { all.refresh(); }
  public long sizeInBytes() { return bytes; }
  public scala.Option metadataOpsTimeNs() { return all.metadataOpsTimeNs(); }

  public String[] inputFiles() {
    List found = new ArrayList();
    String[] names = all.inputFiles();
    for (int i = 0; i < names.length; i++) {
      if (kept.contains(new Path(java.net.URI.create(names[i])).toString()) || kept.contains(names[i])) found.add(names[i]);
    }
    return (String[]) found.toArray(new String[0]);
  }

  public Seq listFiles(Seq partitionFilters, Seq dataFilters) {
    List directories = new ArrayList();
    scala.collection.Iterator each = all.listFiles(partitionFilters, dataFilters).iterator();
    while (each.hasNext()) {
      PartitionDirectory directory = (PartitionDirectory) each.next();
      List files = new ArrayList();
      scala.collection.Iterator listed = directory.files().iterator();
      while (listed.hasNext()) {
        FileStatusWithMetadata file = (FileStatusWithMetadata) listed.next();
        if (kept.contains(file.getPath().toString())) files.add(file);
      }
      if (!files.isEmpty()) directories.add(new PartitionDirectory(directory.values(), Seqs.of(files)));
    }
    return Seqs.of(directories);
  }

  /** Two scans may share their result only if they read the same files. */
  public boolean equals(Object other) {
    return other instanceof PrunedFileIndex && ((PrunedFileIndex) other).all.equals(all) && ((PrunedFileIndex) other).kept.equals(kept);
  }

  public int hashCode() { return all.hashCode() * 31 + kept.size(); }

  public String toString() { return "Headgate(" + kept.size() + " files of " + all + ")"; }
}
