package headgate.scan;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.SparkPlan;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** Runs one of two ways of reading a scan: the told one if the tables of the plan have not changed, else the whole one. */
public class AlternativesExec extends SparkPlan {
  private final transient Snapshot snapshot;
  private final SparkPlan told;
  private final SparkPlan whole;

  public AlternativesExec(Snapshot snapshot, SparkPlan told, SparkPlan whole) {
    this.snapshot = snapshot;
    this.told = told;
    this.whole = whole;
  }

  public Seq output() { return whole.output(); }

  public Seq children() {
    List both = new ArrayList();
    both.add(told);
    both.add(whole);
    return Seqs.of(both);
  }

  public TreeNode withNewChildrenInternal(IndexedSeq both) {
    return new AlternativesExec(snapshot, (SparkPlan) both.apply(0), (SparkPlan) both.apply(1));
  }

  public RDD doExecute() { return snapshot.holds() ? told.execute() : whole.execute(); }

  /** What runs, or ran: as long as nobody has asked whether the tables changed, the told way. */
  SparkPlan chosen() { return snapshot.isBroken() ? whole : told; }

  public String nodeName() { return "HeadgateScan"; }
  public int productArity() { return 3; }
  public Object productElement(int number) { return number == 0 ? (Object) snapshot : number == 1 ? told : whole; }
  public boolean canEqual(Object other) { return other == this; }

  /** Two of them may share their result only if they belong to one plan and read the same. */
  public boolean equals(Object other) {
    if (!(other instanceof AlternativesExec)) return false;
    AlternativesExec twin = (AlternativesExec) other;
    return twin.snapshot == snapshot && twin.told.equals(told) && twin.whole.equals(whole);
  }

  public int hashCode() { return told.hashCode() * 31 + whole.hashCode(); }
}
