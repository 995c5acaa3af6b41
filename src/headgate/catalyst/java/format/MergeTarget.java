package headgate.format;

import headgate.interop.SparkVersion;
import headgate.interop.Trees;
import headgate.scan.KnownFiles;
import org.apache.spark.sql.catalyst.expressions.AttributeMap$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/** The target of a MERGE, in a plan that is never executed: a leaf that is told ranges, which then go into the MERGE. */
public class MergeTarget extends LogicalPlan {
  public final LogicalPlan target;

  public MergeTarget(LogicalPlan target) { this.target = target; }

  public Seq output() { return target.output(); }
  public Seq children() { return (Seq) scala.collection.immutable.Nil$.MODULE$; }
  public TreeNode withNewChildrenInternal(IndexedSeq none) { return this; }

  /** The size that Delta noted beside its last commit, where it did: to ask Delta for it takes jobs over the whole log. */
  public Statistics stats() {
    HadoopFsRelation files = KnownFiles.of(Trees.leaf(target));
    Object size = files == null ? null : follow(files.location(), new String[] {"deltaLog", "unsafeVolatileSnapshot", "checksumOpt", "get", "tableSizeBytes"});
    if (!(size instanceof Long)) return target.stats();
    return new Statistics(scala.math.BigInt$.MODULE$.apply(((Long) size).longValue()), scala.Option.empty(), AttributeMap$.MODULE$.empty(), false);
  }

  /** What a row of methods gives, each asked of what the one before gave; null where there is no such method, or it fails. */
  private static Object follow(Object from, String[] methods) {
    Object at = from;
    for (int i = 0; i < methods.length && at != null; i++) at = SparkVersion.readIfThere(at, methods[i]);
    return at;
  }

  public String nodeName() { return "MergeTarget"; }
  public int productArity() { return 1; }
  public Object productElement(int number) { return target; }
  public boolean canEqual(Object other) { return other instanceof MergeTarget; }
  public boolean equals(Object other) { return other instanceof MergeTarget && ((MergeTarget) other).target == target; }
  public int hashCode() { return System.identityHashCode(target); }
}
