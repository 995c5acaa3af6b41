package headgate.scan;

import org.apache.spark.sql.execution.datasources.PartitionedFile;

/** The rows (or batches) of byte ranges of one file, one range open at a time; which come next is said by `hasNext`. */
public abstract class FileParts extends scala.collection.AbstractIterator implements java.io.Closeable {
  private final scala.Function1 reader;
  protected final PartitionedFile file;
  private scala.collection.Iterator current = null;

  protected FileParts(scala.Function1 reader, PartitionedFile file) {
    this.reader = reader;
    this.file = file;
  }

  /** Whether the range that is open has more. */
  protected boolean hasMore() { return current != null && current.hasNext(); }

  protected void open(long start, long end) { current = (scala.collection.Iterator) reader.apply(part(start, end)); }

  protected PartitionedFile part(long start, long end) {
    return new PartitionedFile(file.partitionValues(), file.filePath(), start, end - start, file.locations(),
        file.modificationTime(), file.fileSize(), file.otherConstantMetadataColumnValues());
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
