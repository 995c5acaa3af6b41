package headgate.tap;

import headgate.build.KeyCollector;
import headgate.interop.Columns;
import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.TaskCompletionListener;

/**
 * A row test that always passes and notes the key: the build side of a join reports its keys while it runs.
 *
 * It stands right below a shuffle, whose map tasks read their input to its end, so a task that succeeds has seen all of
 * its keys. They go to the driver with the task's accumulators: once for each partition, whatever is run again.
 */
public class Tap extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final TapKeys keys;
  private final int maxDistinct;
  private final long maxBytes;
  private transient KeyCollector collector;
  private transient long seen;

  public Tap(TapKeys keys, int maxDistinct, long maxBytes) {
    this.keys = keys;
    this.maxDistinct = maxDistinct;
    this.maxBytes = maxBytes;
  }

  public static Expression on(Attribute column, Tap tap) {
    List inputs = new ArrayList();
    inputs.add(Columns.asLong(column));
    return new ScalaUDF(tap, DataTypes.BooleanType, Seqs.of(inputs), Seqs.of(new ArrayList()), scala.Option.empty(),
        scala.Option.apply("headgate_tap"), true, true);
  }

  public Object apply(Object key) {
    if (collector == null) begin();
    if (key == null) collector.addNull();
    else collector.addLong(((Long) key).longValue());
    if ((++seen & 0xFFFFL) == 0L) collector.checkSize();
    return Boolean.TRUE;
  }

  private void begin() {
    collector = new KeyCollector(0, DataTypes.LongType, maxDistinct, maxBytes);
    TaskContext task = TaskContext.get();
    if (task != null) task.addTaskCompletionListener((TaskCompletionListener) new TapEnd(this));
  }

  /** Called when the task ends: only now are the keys put where Spark collects them from. */
  void end() {
    try {
      keys.add(collector.pack());
    } catch (java.io.IOException impossible) {
      throw new RuntimeException(impossible);
    }
  }

  /** Taps change no row, so two plans that differ in them alone are one plan to Spark, and run once. */
  public boolean equals(Object other) { return other instanceof Tap; }
  public int hashCode() { return 7; }
}
