package headgate.scan;

import java.util.List;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/** The rows (or batches) of several byte ranges of one file, each opened when the one before is exhausted. */
public class RowGroupIterator extends FileParts {
  private final List runs;
  private int next = 0;

  public RowGroupIterator(scala.Function1 reader, PartitionedFile file, List runs) {
    super(reader, file);
    this.runs = runs;
  }

  public boolean hasNext() {
    while (!hasMore()) {
      close();
      if (next >= runs.size()) return false;
      long[] run = (long[]) runs.get(next++);
      open(run[0], run[1]);
    }
    return true;
  }
}
