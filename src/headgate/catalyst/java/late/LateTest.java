package headgate.late;

import headgate.interop.Columns;
import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.types.DataTypes;

/** A row test that lets every row pass until its filter arrives; called from Spark's generated code. */
public class LateTest extends scala.runtime.AbstractFunction1 implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final LateSource source;
  private final String filter;
  private final int number;
  private final LateFilterCounts counts;
  private transient LateState state;
  private transient LateDomain domain;
  private transient long seenVersion;
  private transient int tested;
  private transient int passed;
  private transient boolean useless;
  private transient boolean settled;

  public LateTest(LateSource source, String filter, int number, LateFilterCounts counts) {
    this.source = source;
    this.filter = filter;
    this.number = number;
    this.counts = counts;
  }

  public static Expression on(Attribute column, LateTest test) {
    List inputs = new ArrayList();
    inputs.add(Columns.asLong(column));
    return new ScalaUDF(test, DataTypes.BooleanType, Seqs.of(inputs), Seqs.of(new ArrayList()), scala.Option.empty(),
        scala.Option.apply("headgate_late"), false, true);
  }

  /** A filter that lets nearly every row pass is not asked again by this task. */
  private static final int TRIAL = 1 << 16;

  public Object apply(Object key) {
    if (useless) return Boolean.TRUE;
    if (state == null) state = source.state();
    if (!settled && state.version != seenVersion) look();
    if (domain == null) return Boolean.TRUE;
    boolean kept = key == null ? domain.allowsNull() : domain.contains(((Long) key).longValue());
    if (tested < TRIAL) {
      tested++;
      if (kept) passed++;
      if (tested == TRIAL && settled && passed > TRIAL / 10 * 9) useless = true;
    }
    if (kept) return Boolean.TRUE;
    counts.rowDropped(number, state.receivedAt(filter));
    return Boolean.FALSE;
  }

  /** Version 0: nothing has arrived. What is complete is not looked for again. */
  private void look() {
    seenVersion = state.version;
    settled = state.isComplete(filter);
    domain = state.find(filter);
    if (domain != null) counts.arrived(number, state.receivedAt(filter));
  }

  public boolean equals(Object other) {
    return other instanceof LateTest && ((LateTest) other).source.equals(source) && ((LateTest) other).filter.equals(filter);
  }

  public int hashCode() { return source.hashCode() * 31 + filter.hashCode(); }
}
