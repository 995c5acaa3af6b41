package headgate.scan;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * Opens only the surviving row groups of a split, run by run.
 *
 * A row group belongs to the split that holds its middle, as Parquet has it, so each is read by exactly one task.
 */
public class RowGroupReader extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final scala.Function1 reader;
  private final HashMap ranges;

  public RowGroupReader(scala.Function1 reader, HashMap ranges) {
    this.reader = reader;
    this.ranges = ranges;
  }

  public Object apply(Object argument) {
    PartitionedFile file = (PartitionedFile) argument;
    long[] kept = (long[]) ranges.get(file.toPath().toString());
    if (kept == null) return reader.apply(file);
    List runs = new ArrayList();
    long end = -1L;
    for (int i = 0; i < kept.length; i += 2) {
      long middle = kept[i] + (kept[i + 1] - kept[i]) / 2L;
      if (middle < file.start() || middle >= file.start() + file.length()) continue;
      if (!runs.isEmpty() && end == kept[i]) ((long[]) runs.get(runs.size() - 1))[1] = kept[i + 1];
      else runs.add(new long[] {kept[i], kept[i + 1]});
      end = kept[i + 1];
    }
    return new RowGroupIterator(reader, file, runs);
  }
}
