package headgate;

import java.util.List;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/** The rows (or batches) of several byte ranges of one file, each opened when the one before is exhausted. */
public class RowGroupIterator extends scala.collection.AbstractIterator implements java.io.Closeable {
  private final scala.Function1 reader;
  private final PartitionedFile file;
  private final List runs;
  private int next = 0;
  private scala.collection.Iterator current = null;

  public RowGroupIterator(scala.Function1 reader, PartitionedFile file, List runs) {
    this.reader = reader;
    this.file = file;
    this.runs = runs;
  }

  public boolean hasNext() {
    while (current == null || !current.hasNext()) {
      close();
      if (next >= runs.size()) return false;
      long[] run = (long[]) runs.get(next++);
      current = (scala.collection.Iterator) reader.apply(new PartitionedFile(file.partitionValues(), file.filePath(), run[0],
          run[1] - run[0], file.locations(), file.modificationTime(), file.fileSize(), file.otherConstantMetadataColumnValues()));
    }
    return true;
  }

  public Object next() {
    if (!hasNext()) return scala.collection.Iterator$.MODULE$.empty().next();
    return current.next();
  }

  public void close() {
    scala.collection.Iterator open = current;
    current = null;
    try {
      if (open instanceof java.io.Closeable) ((java.io.Closeable) open).close();
    } catch (java.io.IOException failure) {
      throw new RuntimeException(failure);
    }
  }
}
