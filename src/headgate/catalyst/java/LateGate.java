package headgate;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
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
  private final LateCounts counts;
  private final Broadcast conf;

  public LateGate(LateSource source, GateFilter[] filters, LateCounts counts, Broadcast conf) {
    this.source = source;
    this.filters = filters;
    this.counts = counts;
    this.conf = conf;
  }

  public long version() { return source.state().version; }

  /** Whether the partition that a file lies in can match all filters that have arrived. */
  public boolean mayMatch(PartitionedFile file) {
    for (int i = 0; i < filters.length; i++) {
      LateDomain domain = source.state().find(filters[i].id);
      if (domain == null || !filters[i].isOfPartitions()) continue;
      if (!filters[i].mayMatch(domain, file.partitionValues())) {
        counts.filesSkipped(filters[i].number, source.state().receivedAt(filters[i].id));
        return false;
      }
    }
    return true;
  }

  /** Which of some row groups can match; counts the others. */
  public List surviving(List groups) {
    List kept = new ArrayList();
    for (int g = 0; g < groups.size(); g++) {
      BlockMetaData group = (BlockMetaData) groups.get(g);
      int closing = closedBy(group);
      if (closing < 0) kept.add(group);
      else counts.rowGroupsSkipped(filters[closing].number, 1L, source.state().receivedAt(filters[closing].id));
    }
    return kept;
  }

  private int closedBy(BlockMetaData group) {
    for (int i = 0; i < filters.length; i++) {
      LateDomain domain = source.state().find(filters[i].id);
      if (domain != null && !filters[i].isOfPartitions() && !filters[i].mayMatch(domain, group)) return i;
    }
    return -1;
  }

  public void noteSkipped(PartitionedFile file) {
    for (int i = 0; i < filters.length; i++) {
      if (source.state().find(filters[i].id) == null) continue;
      counts.filesSkipped(filters[i].number, source.state().receivedAt(filters[i].id));
      return;
    }
  }

  public void noteOpened() {
    for (int i = 0; i < filters.length; i++) if (source.state().find(filters[i].id) == null) counts.openedBefore(filters[i].number);
  }

  /** The row groups of a file whose middle lies in a split, or null where the footer cannot be read: then all are kept. */
  public List rowGroups(PartitionedFile file) {
    ParquetFileReader reader = null;
    try {
      Configuration hadoop = ((SerializableConfiguration) conf.value()).value();
      reader = ParquetFileReader.open(HadoopInputFile.fromPath(file.toPath(), hadoop));
      List found = new ArrayList();
      List all = reader.getFooter().getBlocks();
      for (int i = 0; i < all.size(); i++) {
        BlockMetaData group = (BlockMetaData) all.get(i);
        long middle = group.getStartingPos() + group.getCompressedSize() / 2L;
        if (middle >= file.start() && middle < file.start() + file.length()) found.add(group);
      }
      return found;
    } catch (Exception unreadable) {
      return null;
    } finally {
      close(reader);
    }
  }

  private static void close(ParquetFileReader reader) {
    try {
      if (reader != null) reader.close();
    } catch (java.io.IOException ignored) {
      return;
    }
  }
}
