package headgate.late;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.util.SerializableConfiguration;

/** The check before a file, or a range of a file, is opened: what do the filters that have arrived leave of it? */
public class LateGate implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final LateSource source;
  private final GateFilter[] filters;
  private final LateFilterCounts counts;
  private final Broadcast conf;
  private final int scan;
  private final HashMap ranges;

  /** scan: its number in the plan; ranges: what planning left of partly read files, as `PrunedParquet` has it. */
  public LateGate(LateSource source, GateFilter[] filters, LateFilterCounts counts, Broadcast conf, int scan, HashMap ranges) {
    this.source = source;
    this.filters = filters;
    this.counts = counts;
    this.conf = conf;
    this.scan = scan;
    this.ranges = ranges;
  }

  public long version() { return source.state().version; }

  /** Whether the partition that a file lies in can match all filters that have arrived. */
  public boolean mayMatch(PartitionedFile file) {
    for (int i = 0; i < filters.length; i++) {
      LateDomain domain = source.state().find(filters[i].id);
      if (domain != null) counts.arrived(filters[i].number, source.state().receivedAt(filters[i].id));
      if (domain == null || !filters[i].isOfPartitions()) continue;
      if (!filters[i].mayMatch(domain, file.partitionValues())) {
        counts.removed(filters[i].number, source.state().receivedAt(filters[i].id));
        counts.unread().closeWhole(scan, file.toPath().toString(), bytesOf(file), filters[i].number);
        return false;
      }
    }
    return true;
  }

  /** Which of some row groups can match; counts the others. */
  public List surviving(PartitionedFile file, List groups) {
    List kept = new ArrayList();
    for (int g = 0; g < groups.size(); g++) {
      BlockMetaData group = (BlockMetaData) groups.get(g);
      int closing = closedBy(group);
      if (closing < 0) kept.add(group);
      else close(file, group, filters[closing]);
    }
    return kept;
  }

  private void close(PartitionedFile file, BlockMetaData group, GateFilter filter) {
    counts.removed(filter.number, source.state().receivedAt(filter.id));
    counts.unread().close(scan, file.toPath().toString(), bytesOf(file), group.getStartingPos(), group.getCompressedSize(), filter.number);
  }

  private int closedBy(BlockMetaData group) {
    for (int i = 0; i < filters.length; i++) {
      LateDomain domain = source.state().find(filters[i].id);
      if (domain != null && !filters[i].isOfPartitions() && !filters[i].mayMatch(domain, group)) return i;
    }
    return -1;
  }

  public void noteOpened(PartitionedFile file) {
    counts.unread().open(scan, file.toPath().toString());
    boolean cutOff = LatePoller.isCutOff(source.url);
    for (int i = 0; i < filters.length; i++) if (source.state().find(filters[i].id) == null) counts.openedBefore(filters[i].number, cutOff);
  }

  /** The row groups that planning left of a split, or null where the footer cannot be read: then all are kept. */
  public List rowGroups(PartitionedFile file) {
    ParquetFileReader reader = null;
    try {
      Configuration hadoop = ((SerializableConfiguration) conf.value()).value();
      // options of its own would make Parquet read Hadoop's default settings from their XML files for each file
      ParquetReadOptions options = HadoopReadOptions.builder(hadoop, file.toPath()).build();
      reader = ParquetFileReader.open(HadoopInputFile.fromPath(file.toPath(), hadoop), options);
      List found = new ArrayList();
      List all = reader.getFooter().getBlocks();
      for (int i = 0; i < all.size(); i++) {
        BlockMetaData group = (BlockMetaData) all.get(i);
        long middle = group.getStartingPos() + group.getCompressedSize() / 2L;
        if (middle >= file.start() && middle < file.start() + file.length() && isLeft(file, middle)) found.add(group);
      }
      return found;
    } catch (Exception unreadable) {
      return null;
    } finally {
      close(reader);
    }
  }

  /** What planning left of a whole file. */
  private long bytesOf(PartitionedFile file) {
    long[] kept = (long[]) ranges.get(file.toPath().toString());
    if (kept == null) return file.fileSize();
    long bytes = 0L;
    for (int i = 0; i < kept.length; i += 2) bytes += kept[i + 1] - kept[i];
    return bytes;
  }

  private boolean isLeft(PartitionedFile file, long middle) {
    long[] kept = (long[]) ranges.get(file.toPath().toString());
    for (int i = 0; kept != null && i < kept.length; i += 2) if (middle >= kept[i] && middle < kept[i + 1]) return true;
    return kept == null;
  }

  private static void close(ParquetFileReader reader) {
    try {
      if (reader != null) reader.close();
    } catch (java.io.IOException ignored) {
      return;
    }
  }
}
