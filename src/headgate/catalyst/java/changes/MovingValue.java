package headgate.changes;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * A value that moves while a query runs. A stream of it has a row for each batch in which it moved.
 *
 * Values are texts here, since they stand in the offsets: a batch that is run again sees what it saw the first time.
 */
public interface MovingValue {
  StructType schema();

  /** Hear where the checkpoint of a query keeps what is known of this source, before its first batch. */
  void startsAt(String checkpoint);

  /** What the value is now. */
  String now();

  /** The value of the next batch, or null where there is no news; `last` is null before the first one. */
  String next(String last, String now, boolean justStarted, boolean withoutLimit);

  /** Whether a query that stops when all is read takes what the value was when it started. */
  boolean isFixedAtStart();

  InternalRow row(String value);
}
