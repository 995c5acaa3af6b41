package headgate.build;

import headgate.scan.IdSet;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Makes a DataFrame of (id, number) of numbered bitmaps, without listing their ids anywhere: tasks read pieces of the bitmaps. */
public class IdRows implements FlatMapFunction {
  private static final long serialVersionUID = 1L;

  /** Bitmaps in roaring's portable format, with their widths; the number of each is its place in the list. */
  public static Dataset of(SparkSession session, List packed, List widths, String idName, String numberName) throws Exception {
    List pieces = new ArrayList();
    for (int i = 0; i < packed.size(); i++) {
      boolean wide = ((Integer) widths.get(i)).intValue() == 64;
      IdSet ids = IdSet.read(wide ? IdSet.WIDE_BITMAP : IdSet.BITMAP, (byte[]) packed.get(i));
      List cut = ids.pieces();
      for (int p = 0; p < cut.size(); p++) pieces.add(new Object[] {cut.get(p), Integer.valueOf(i)});
    }
    StructType schema = new StructType().add(idName, DataTypes.LongType, false).add(numberName, DataTypes.IntegerType, false);
    int parts = Math.max(1, Math.min(pieces.size(), session.sparkContext().defaultParallelism() * 4));
    JavaSparkContext spark = JavaSparkContext.fromSparkContext(session.sparkContext());
    return session.internalCreateDataFrame(spark.parallelize(pieces, parts).flatMap(new IdRows()).rdd(), schema, false);
  }

  public Iterator call(Object piece) throws Exception {
    byte[] packed = (byte[]) ((Object[]) piece)[0];
    byte[] body = java.util.Arrays.copyOfRange(packed, 1, packed.length);
    return new Rows(IdSet.read(packed[0], body).iterator(), (Integer) ((Object[]) piece)[1]);
  }

  static class Rows implements Iterator {
    private final Iterator ids;
    private final Integer number;

    Rows(Iterator ids, Integer number) {
      this.ids = ids;
      this.number = number;
    }

    public boolean hasNext() { return ids.hasNext(); }
    public Object next() { return (InternalRow) new GenericInternalRow(new Object[] {ids.next(), number}); }
    public void remove() { throw new UnsupportedOperationException(); }
  }
}
