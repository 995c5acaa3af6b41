package headgate.stream;

import headgate.scan.ColumnChunks;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.statistics.LongStatistics;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.SeekableInputStream;

/**
 * The footer of one Parquet file against a cut-off: which row groups hold nothing but late rows.
 *
 * A row group is late if its largest event time is known, is at or below the cut-off, and no event time is NULL.
 * Whatever is not known makes a row group one to read, and a file that cannot be opened is left for Spark to open.
 */
public class EventTimeFooter implements Callable {
  private final FileStatus status;
  private final Configuration configuration;
  private final ParquetReadOptions options;
  private final EventTimeColumn column;
  private final long cut;
  private boolean[] late = new boolean[0];
  private long[] starts = new long[0];
  private boolean restOnTime = false;
  private boolean read = false;
  public int groupsLate;
  public long lateRows;
  public long nulls;

  public EventTimeFooter(FileStatus status, Configuration configuration, ParquetReadOptions options, EventTimeColumn column, long cut) {
    this.status = status;
    this.configuration = configuration;
    this.options = options;
    this.column = column;
    this.cut = cut;
  }

  public String path() { return status.getPath().toString(); }
  public long size() { return status.getLen(); }
  public boolean isRead() { return read; }
  public int groups() { return late.length; }
  public boolean isLate() { return groupsLate > 0 && groupsLate == late.length; }
  /** Whether the row groups that are not late hold no late row either. */
  public boolean isRestOnTime() { return restOnTime; }

  public Object call() {
    read = true;
    try {
      read();
    } catch (Exception unreadable) {
      forget();
    }
    return null;
  }

  private void forget() {
    late = new boolean[0];
    groupsLate = 0;
    lateRows = 0L;
    nulls = 0L;
    restOnTime = false;
  }

  private void read() throws Exception {
    HadoopInputFile file = HadoopInputFile.fromStatus(status, configuration);
    SeekableInputStream in = file.newStream();
    ParquetMetadata footer;
    try {
      footer = ParquetFileReader.readFooter(file, options, in);
    } finally {
      in.close();
    }
    List blocks = footer.getBlocks();
    late = new boolean[blocks.size()];
    starts = new long[blocks.size()];
    String name = column.in(footer);
    long unit = name == null ? 0L : column.unit(footer.getFileMetaData().getSchema().getType(name));
    restOnTime = true;
    for (int i = 0; i < late.length; i++) judge(i, (BlockMetaData) blocks.get(i), unit == 0L ? null : name, unit);
  }

  private void judge(int i, BlockMetaData block, String name, long unit) {
    starts[i] = block.getStartingPos();
    Statistics found = name == null ? null : statistics(block, name);
    if (!(found instanceof LongStatistics) || !found.isNumNullsSet()) {
      restOnTime = false;
      return;
    }
    nulls += found.getNumNulls();
    if (!found.hasNonNullValue()) {
      restOnTime = restOnTime && found.getNumNulls() == block.getRowCount();
      return;
    }
    LongStatistics times = (LongStatistics) found;
    if (found.getNumNulls() == 0L && Math.multiplyExact(times.getMax(), unit) <= cut) {
      late[i] = true;
      groupsLate++;
      lateRows += block.getRowCount();
    } else {
      restOnTime = restOnTime && Math.multiplyExact(times.getMin(), unit) > cut;
    }
  }

  private static Statistics statistics(BlockMetaData block, String name) {
    ColumnChunkMetaData chunk = ColumnChunks.find(block, name, true);
    return chunk == null ? null : (Statistics) chunk.getStatistics();
  }

  /** Byte ranges of the row groups to read, or null where row groups do not lie one after another. */
  public long[] keptRanges() {
    long[] found = new long[2 * (late.length - groupsLate)];
    int at = 0;
    for (int i = 0; i < late.length; i++) {
      long end = i + 1 < late.length ? starts[i + 1] : size();
      if (starts[i] <= 0L || starts[i] >= end) return null;
      if (late[i]) continue;
      found[at++] = starts[i];
      found[at++] = end;
    }
    return found;
  }
}
