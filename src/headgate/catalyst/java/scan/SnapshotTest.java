package headgate.scan;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;

/**
 * Lets every row pass when the tables have changed since planning; otherwise a row test decides.
 *
 * The driver knows the answer when it sends out the tasks, so each task carries it.
 */
public class SnapshotTest implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final transient Snapshot snapshot;
  private final boolean changed;

  public SnapshotTest(Snapshot snapshot) {
    this.snapshot = snapshot;
    this.changed = false;
  }

  private SnapshotTest(boolean changed) {
    this.snapshot = null;
    this.changed = changed;
  }

  /** The test, if the snapshot holds. The argument of the call keeps Spark from folding it into a constant. */
  public static Expression orElse(Snapshot snapshot, Attribute column, Expression test) {
    List arguments = new ArrayList();
    arguments.add(new IsNull(column));
    Expression changed = new Invoke(new Literal(new SnapshotTest(snapshot), new ObjectType(SnapshotTest.class)), "hasChanged",
        DataTypes.BooleanType, Seqs.of(arguments), Seqs.of(new ArrayList()), true, false, true);
    return new Or(changed, test);
  }

  public boolean hasChanged(boolean ignored) { return snapshot == null ? changed : !snapshot.holds(); }

  /** What travels with a task is the answer. (Janino hides private methods from Java's serialization, so not `writeObject`.) */
  public Object writeReplace() { return snapshot == null ? this : new SnapshotTest(!snapshot.holds()); }

  /** Two scans may share their result only if they belong to one plan. */
  public boolean equals(Object other) { return other instanceof SnapshotTest && ((SnapshotTest) other).snapshot == snapshot; }
  public int hashCode() { return System.identityHashCode(snapshot); }
  public String toString() { return "tables"; }
}
