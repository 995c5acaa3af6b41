package headgate.build;

import headgate.scan.IdSet;
import org.apache.spark.sql.catalyst.InternalRow;

/** Runs in each task of a frame of (tag, id): collects the ids of each tag, as far as there is room. NULLs are no ids. */
public class IdTask extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private static final long LOOK_MASK = 0x3FFFL;
  private final boolean tagged;
  private final long maxIds;
  private final long maxBytes;

  public IdTask(boolean tagged, long maxIds, long maxBytes) {
    this.tagged = tagged;
    this.maxIds = maxIds;
    this.maxBytes = maxBytes;
  }

  public Object apply(Object input) {
    scala.collection.Iterator rows = (scala.collection.Iterator) input;
    TaggedIds found = new TaggedIds();
    int ordinal = tagged ? 1 : 0;
    long count = 0L;
    boolean complete = true;
    IdSet one = tagged ? null : found.of(0L);
    while (complete && rows.hasNext()) {
      InternalRow row = (InternalRow) rows.next();
      if (row.isNullAt(ordinal)) continue;
      if (tagged) found.of(row.getLong(0)).add(row.getLong(1));
      else one.add(row.getLong(0));
      if ((++count & LOOK_MASK) == 0L) complete = !found.passes(maxIds, maxBytes);
    }
    try {
      return found.packed(complete);
    } catch (java.io.IOException impossible) {
      throw new RuntimeException(impossible);
    }
  }
}
