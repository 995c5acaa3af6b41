package headgate.build;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;

/** Runs in each build task: keeps the rows while they are few, and a bounded domain of each key. */
public class BuildTask implements FlatMapFunction {
  private static final long serialVersionUID = 1L;
  private final DataType[] columns;
  private final int[] keys;
  private final long maxRowBytes;
  private final int maxDistinct;
  private final long maxFilterBytes;

  public BuildTask(DataType[] columns, int[] keys, long maxRowBytes, int maxDistinct, long maxFilterBytes) {
    this.columns = columns;
    this.keys = keys;
    this.maxRowBytes = maxRowBytes;
    this.maxDistinct = maxDistinct;
    this.maxFilterBytes = maxFilterBytes;
  }

  public Iterator call(Object rows) throws Exception { return Collections.singletonList(collect((Iterator) rows)).iterator(); }

  public PartialBuild collect(Iterator rows) throws Exception {
    KeyCollector[] collectors = new KeyCollector[keys.length];
    for (int i = 0; i < keys.length; i++) collectors[i] = new KeyCollector(keys[i], columns[keys[i]], maxDistinct, maxFilterBytes);
    UnsafeProjection unsafe = UnsafeProjection.create(columns);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = maxRowBytes > 0L ? new DataOutputStream(bytes) : null;
    long count = 0L;
    while (rows.hasNext()) {
      InternalRow row = (InternalRow) rows.next();
      for (int i = 0; i < collectors.length; i++) collectors[i].add(row);
      if (out != null) {
        UnsafeRow packed = row instanceof UnsafeRow ? (UnsafeRow) row : unsafe.apply(row);
        out.writeInt(packed.getSizeInBytes());
        out.write(packed.getBytes());
        if (bytes.size() > maxRowBytes) {
          out = null;
          bytes = new ByteArrayOutputStream();
        }
      }
      if ((++count & 0xFFFFL) == 0L) for (int i = 0; i < collectors.length; i++) collectors[i].checkSize();
    }
    PartialBuild result = new PartialBuild();
    result.rowCount = count;
    result.rows = out == null ? null : bytes.toByteArray();
    result.keys = new byte[keys.length][];
    for (int i = 0; i < keys.length; i++) result.keys[i] = collectors[i].pack();
    return result;
  }
}
