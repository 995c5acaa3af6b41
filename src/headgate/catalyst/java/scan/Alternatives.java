package headgate.scan;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * A scan in two ways: told which values matter, for as long as the tables that they were learned from have not changed,
 * and whole. A source cannot be told otherwise once it is planned, so the choice is made when the query is executed.
 *
 * To other rules it is a leaf: nothing may be moved into one of the two.
 */
public class Alternatives extends LogicalPlan {
  public final Snapshot snapshot;
  public final LogicalPlan told;
  public final LogicalPlan whole;

  public Alternatives(Snapshot snapshot, LogicalPlan told, LogicalPlan whole) {
    this.snapshot = snapshot;
    this.told = told;
    this.whole = whole;
  }

  public Seq output() { return whole.output(); }
  public Seq children() { return (Seq) scala.collection.immutable.Nil$.MODULE$; }
  public TreeNode withNewChildrenInternal(IndexedSeq none) { return this; }
  /** What Spark knows of the whole scan: how much the told one reads, only its source knows. */
  public Statistics stats() { return whole.stats(); }
  public scala.Option maxRows() { return whole.maxRows(); }
  public String nodeName() { return "HeadgateScan"; }
  public int productArity() { return 3; }
  public Object productElement(int number) { return number == 0 ? (Object) snapshot : number == 1 ? told : whole; }
  public boolean canEqual(Object other) { return other == this; }
  public boolean equals(Object other) { return other == this; }
  public int hashCode() { return System.identityHashCode(this); }
}
