package headgate.changes;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.MapPartitionsFunction;

/** Of the right rows of one task those that may count: each goes to every vnode, and only the latest is looked at there. */
public class LatestRecords implements MapPartitionsFunction {
  private static final long serialVersionUID = 1L;
  private final boolean ordered;

  public LatestRecords(boolean ordered) { this.ordered = ordered; }

  /** One record, or two where they tie, so that whoever has to say so can. */
  public Iterator call(Iterator records) {
    List kept = new ArrayList();
    while (records.hasNext()) {
      byte[] record = (byte[]) records.next();
      int compared = kept.isEmpty() || !ordered ? 0 : Arrays.compareUnsigned(order(record), order((byte[]) kept.get(0)));
      if (compared < 0) continue;
      if (compared > 0) kept.clear();
      if (kept.isEmpty() || kept.size() == 1 && !Arrays.equals((byte[]) kept.get(0), record)) kept.add(record);
    }
    return kept.iterator();
  }

  private static byte[] order(byte[] record) { return Arrays.copyOfRange(record, 5 + ByteBuffer.wrap(record).getInt(1), record.length); }
}
