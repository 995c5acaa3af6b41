package headgate.changes;

import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;

/** What a packed record begins with: the kind of a change of the left side, or whose record it is otherwise. */
class Change {
  static final byte INSERT = 0;
  static final byte UPDATE_BEFORE = 1;
  static final byte UPDATE_AFTER = 2;
  static final byte DELETE = 3;
  static final byte RIGHT_IN = 4;
  static final byte RIGHT_OUT = 5;
  static final byte RIGHT_LATEST = 6;
  static final byte TICK = 7;

  static final byte SHOWN = 16;  // added to the kind of a left row that passes whatever the right value is

  static byte kind(byte first) { return (byte) (first & ~SHOWN); }
  static boolean isShown(byte first) { return (first & SHOWN) != 0; }
  static boolean isUpdate(byte kind) { return kind == UPDATE_BEFORE || kind == UPDATE_AFTER; }
  static int weight(byte kind) { return kind == INSERT || kind == UPDATE_AFTER ? 1 : -1; }
  static Row row(byte kind, byte[] item) { return RowFactory.create(new Object[] {Integer.valueOf(kind), item}); }
}
