package headgate.stream;

import java.util.ArrayList;
import java.util.HashMap;
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

/**
 * The Parquet files of one micro-batch: which are late as a whole, which row groups of the others.
 *
 * A late file stays in the listing and gets no byte range to read. Taken out, it would change how Spark packs the other
 * files into tasks, and with that which duplicate is the first and how a float sum is rounded.
 */
public class EventTimeFiles {
  private static final int THREADS = 8;
  /** Footers to read before it is known that any file is late. */
  private static final int SAMPLE = 16;
  private static final long[] NOTHING = new long[0];
  /** Path to the byte ranges to read; a file that is not named is read whole. */
  public final HashMap ranges = new HashMap();
  private boolean onTime = true;
  private final HadoopFsRelation relation;
  private final SourceRecord record;
  private final long cut;
  private final boolean pruneFiles;
  private final boolean pruneGroups;

  public EventTimeFiles(HadoopFsRelation relation, SourceRecord record, long cut, boolean pruneFiles, boolean pruneGroups) {
    this.relation = relation;
    this.record = record;
    this.cut = cut;
    this.pruneFiles = pruneFiles;
    this.pruneGroups = pruneGroups;
  }

  /** Whether no row that is left to read is late, by the files' own statistics or names. */
  public boolean isOnTime() { return onTime; }

  /** By the event time in the names of the folders; how many rows their files hold is not looked up. */
  public void readFolders(int ordinal) {
    scala.collection.Iterator each = directories();
    while (each.hasNext()) {
      PartitionDirectory directory = (PartitionDirectory) each.next();
      boolean late = !directory.values().isNullAt(ordinal) && directory.values().getLong(ordinal) <= cut;
      onTime = onTime && (pruneFiles || !late);
      record.files += directory.files().size();
      if (!late || !pruneFiles) continue;
      record.filesSkipped += directory.files().size();
      scala.collection.Iterator files = directory.files().iterator();
      while (files.hasNext()) ranges.put(((FileStatusWithMetadata) files.next()).getPath().toString(), NOTHING);
    }
  }

  /**
   * By the footers: first of a few files spread over the batch, and of the others only if one of those has a late row
   * group, or `all` is asked for. What is not looked at is read, and its rows are tested.
   */
  public void readFooters(Configuration configuration, EventTimeColumn column, boolean all) throws Exception {
    ParquetReadOptions options = HadoopReadOptions.builder(configuration).build();
    List footers = new ArrayList();
    scala.collection.Iterator each = directories();
    while (each.hasNext()) {
      scala.collection.Iterator files = ((PartitionDirectory) each.next()).files().iterator();
      while (files.hasNext()) {
        footers.add(new EventTimeFooter(((FileStatusWithMetadata) files.next()).fileStatus(), configuration, options, column, cut));
      }
    }
    List first = all || footers.size() <= SAMPLE ? footers : spread(footers);
    boolean whole = readAll(first);
    List rest = new ArrayList();
    for (int i = 0; i < footers.size(); i++) if (!((EventTimeFooter) footers.get(i)).isRead()) rest.add(footers.get(i));
    boolean looks = rest.isEmpty() || anyLate(first);
    whole = whole && (!looks || readAll(rest));
    onTime = whole && looks;
    record.files = footers.size();
    record.filesLookedAt = looks ? footers.size() : first.size();
    for (int i = 0; whole && i < footers.size(); i++) count((EventTimeFooter) footers.get(i));
  }

  private scala.collection.Iterator directories() {
    scala.collection.immutable.Seq none = (scala.collection.immutable.Seq) scala.collection.immutable.Nil$.MODULE$;
    return relation.location().listFiles(none, none).iterator();
  }

  private static List spread(List footers) {
    List found = new ArrayList();
    for (int i = 0; i < SAMPLE; i++) found.add(footers.get((int) ((long) i * (footers.size() - 1) / (SAMPLE - 1))));
    return found;
  }

  private static boolean anyLate(List footers) {
    for (int i = 0; i < footers.size(); i++) if (((EventTimeFooter) footers.get(i)).groupsLate > 0) return true;
    return false;
  }

  /** Reads several at a time; whether all were looked at: a stream that is being stopped interrupts. */
  private static boolean readAll(List footers) throws Exception {
    if (footers.size() <= 1) {
      if (!footers.isEmpty()) ((EventTimeFooter) footers.get(0)).call();
      return true;
    }
    ExecutorService pool = Executors.newFixedThreadPool(Math.min(THREADS, footers.size()));
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

  private void count(EventTimeFooter footer) {
    record.groups += footer.groups();
    record.nulls += footer.nulls;
    long[] kept = NOTHING;
    boolean skips = footer.isLate() ? pruneFiles : pruneGroups && footer.groupsLate > 0;
    if (skips && !footer.isLate()) kept = footer.keptRanges();
    if (!skips || kept == null) {
      onTime = onTime && footer.groupsLate == 0 && footer.isRestOnTime();
      return;
    }
    ranges.put(footer.path(), kept);
    if (footer.isLate()) record.filesSkipped++;
    else onTime = onTime && footer.isRestOnTime();
    record.groupsSkipped += footer.groupsLate;
    record.lateRows += footer.lateRows;
  }
}
