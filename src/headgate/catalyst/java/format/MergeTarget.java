package headgate.format;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** The target of a MERGE, in a plan that is never executed: a leaf that is told ranges, which then go into the MERGE. */
public class MergeTarget extends LogicalPlan {
  public final LogicalPlan target;

  public MergeTarget(LogicalPlan target) { this.target = target; }

  public Seq output() { return target.output(); }
  public Seq children() { return (Seq) scala.collection.immutable.Nil$.MODULE$; }
  public TreeNode withNewChildrenInternal(IndexedSeq none) { return this; }
  public Statistics stats() { return target.stats(); }
  public String nodeName() { return "MergeTarget"; }
  public int productArity() { return 1; }
  public Object productElement(int number) { return target; }
  public boolean canEqual(Object other) { return other instanceof MergeTarget; }
  public boolean equals(Object other) { return other instanceof MergeTarget && ((MergeTarget) other).target == target; }
  public int hashCode() { return System.identityHashCode(target); }
}
