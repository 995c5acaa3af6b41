package headgate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;

/** The Parquet files of one micro-batch by their footers: which are late as a whole, which row groups of the others. */
public class LateFiles {
  private static final int THREADS = 8;
  public final HashSet kept = new HashSet();
  public final HashMap ranges = new HashMap();
  public int files;
  public int filesSkipped;
  public int groups;
  public int groupsSkipped;
  public long bytes;
  public long lateRows;
  public long nulls;
  private boolean onTime = true;
  private final HadoopFsRelation relation;
  private final String column;
  private final boolean zoned;
  private final long cut;
  private final boolean byCase;
  private final boolean pruneFiles;
  private final boolean pruneGroups;

  public LateFiles(HadoopFsRelation relation, String column, boolean zoned, long cut, boolean byCase, boolean pruneFiles, boolean pruneGroups) {
    this.relation = relation;
    this.column = column;
    this.zoned = zoned;
    this.cut = cut;
    this.byCase = byCase;
    this.pruneFiles = pruneFiles;
    this.pruneGroups = pruneGroups;
  }

  /** Whether no row that is left to read is late, by the files' own statistics. */
  public boolean isOnTime() { return onTime; }

  public boolean isNarrower() { return filesSkipped > 0 || !ranges.isEmpty(); }

  public void read(Configuration configuration) throws Exception {
    List footers = new ArrayList();
    ParquetReadOptions options = HadoopReadOptions.builder(configuration).build();
    scala.collection.immutable.Seq none = (scala.collection.immutable.Seq) scala.collection.immutable.Nil$.MODULE$;
    scala.collection.Iterator directories = relation.location().listFiles(none, none).iterator();
    while (directories.hasNext()) {
      scala.collection.Iterator each = ((PartitionDirectory) directories.next()).files().iterator();
      while (each.hasNext()) {
        footers.add(new LateFooter(((FileStatusWithMetadata) each.next()).fileStatus(), configuration, options, column, zoned, cut, byCase));
      }
    }
    if (!readAll(footers)) onTime = false;
    for (int i = 0; i < footers.size(); i++) count((LateFooter) footers.get(i));
  }

  /** Reads several at a time; whether all were looked at: a stream that is being stopped interrupts. */
  private static boolean readAll(List footers) throws Exception {
    if (footers.size() == 1) {
      ((LateFooter) footers.get(0)).call();
      return true;
    }
    ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, Math.min(THREADS, footers.size())));
    boolean whole = true;
    try {
      List pending = pool.invokeAll(footers);
      for (int i = 0; i < pending.size(); i++) ((Future) pending.get(i)).get();
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      whole = false;
    } finally {
      pool.shutdownNow();
    }
    return whole;
  }

  private void count(LateFooter footer) {
    files++;
    groups += footer.groups();
    nulls += footer.nulls;
    boolean skipped = pruneFiles && footer.isLate();
    if (skipped) {
      filesSkipped++;
      groupsSkipped += footer.groups();
      lateRows += footer.lateRows;
      return;
    }
    kept.add(footer.path());
    bytes += footer.size();
    if (pruneGroups && footer.groupsLate > 0 && footer.keptRanges() != null && !footer.isLate()) {
      ranges.put(footer.path(), footer.keptRanges());
      groupsSkipped += footer.groupsLate;
      lateRows += footer.lateRows;
      onTime = onTime && footer.isRestOnTime();
    } else {
      onTime = onTime && footer.groupsLate == 0 && footer.isRestOnTime();
    }
  }
}
