package headgate.format;

import headgate.interop.Seqs;
import headgate.interop.SparkVersion;
import headgate.interop.Trees;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.execution.datasources.v2.V1ScanWrapper;
import org.apache.spark.sql.execution.datasources.v2.V2ScanPartitioningAndOrdering$;
import org.apache.spark.sql.execution.datasources.v2.V2ScanRelationPushDown$;

/**
 * Pushes conditions into a scan that Spark has pushed conditions into before: from its relation anew, with those and one more.
 *
 * Only a scan that is known whole may be made anew: pushed again with the conditions that are known of it, it must come
 * out the same. A limit, an aggregate, a sample or a condition that went into it unseen makes it differ, and so does a
 * table that has changed since.
 */
public class PushedAgain {
  /** Whether a scan reads what an UPDATE, DELETE or MERGE writes into. */
  public static boolean isTarget(DataSourceV2ScanRelation scan) { return scan.relation().table() instanceof RowLevelOperationTable; }

  /**
   * Whether a scan may be made anew, as far as can be seen before trying.
   *
   * The target of an UPDATE, DELETE or MERGE may if rows are marked as deleted. Where whole files are replaced, the rows
   * that were read and not changed are written again, so one that is not read is lost.
   */
  public static boolean mayBePushed(DataSourceV2ScanRelation scan) {
    if (isTarget(scan) && !(((RowLevelOperationTable) scan.relation().table()).operation() instanceof SupportsDelta)) return false;
    Object said = SparkVersion.readIfThere(scan, "mergeableScan");
    return !Boolean.FALSE.equals(said) && isPartOf(scan.output(), scan.relation().output());
  }

  /** The scan with a test more, or null where it is not known whole. */
  public static LogicalPlan with(DataSourceV2ScanRelation scan, Expression before, Expression test) {
    List known = known(scan, before);
    LogicalPlan fresh = with(scan, known, test);
    if (fresh != null) return fresh;
    // a join infers that its keys are not NULL, and a source may take that whole, so that it is seen nowhere
    scala.collection.Iterator each = test.references().iterator();
    while (each.hasNext()) known.add(0, new IsNotNull((Expression) each.next()));
    return with(scan, known, test);
  }

  private static LogicalPlan with(DataSourceV2ScanRelation scan, List known, Expression test) {
    List all = new ArrayList(known);
    all.add(test);
    LogicalPlan fresh = pushed(scan, all);
    if (!(Trees.leaf(fresh) instanceof DataSourceV2ScanRelation)) return null;
    // looked at last: a table that has changed in between shows here
    LogicalPlan again = Trees.leaf(pushed(scan, known));
    return again instanceof DataSourceV2ScanRelation && isSame(scan.scan(), ((DataSourceV2ScanRelation) again).scan()) ? fresh : null;
  }

  private static LogicalPlan pushed(DataSourceV2ScanRelation scan, List conditions) {
    List columns = new ArrayList();
    scala.collection.Iterator out = scan.output().iterator();
    while (out.hasNext()) columns.add(out.next());
    Expression all = null;
    for (int i = 0; i < conditions.size(); i++) all = ScanEdit.and(all, (Expression) conditions.get(i));
    LogicalPlan relation = readOnly(scan.relation());
    LogicalPlan below = all == null ? relation : new Filter(all, relation);
    LogicalPlan made = V2ScanRelationPushDown$.MODULE$.apply(new Project(Seqs.of(columns), below));
    return V2ScanPartitioningAndOrdering$.MODULE$.apply(made);
  }

  /** The relation, without the operation that writes into it: that keeps the scan it knows, by which it looks for conflicts. */
  private static LogicalPlan readOnly(DataSourceV2Relation relation) {
    if (!(relation.table() instanceof RowLevelOperationTable)) return relation;
    Object[] fields = Trees.fields(relation);
    for (int i = 0; i < fields.length; i++) if (fields[i] == relation.table()) fields[i] = ((RowLevelOperationTable) relation.table()).table();
    return (LogicalPlan) relation.makeCopy(fields);
  }

  /** The conditions that the scan stands under: those above it, and those that went into it whole, as far as Spark says. */
  private static List known(DataSourceV2ScanRelation scan, Expression before) {
    List found = new ArrayList();
    Object whole = SparkVersion.readIfThere(scan, "pushedFilters");
    if (whole == null && scan.scan() instanceof FileScan) whole = ((FileScan) scan.scan()).partitionFilters();
    scala.collection.Iterator each = whole == null ? scala.collection.Iterator$.MODULE$.empty() : ((scala.collection.Seq) whole).iterator();
    while (each.hasNext()) found.add(each.next());
    conjuncts(before, found);
    return found;
  }

  private static void conjuncts(Expression condition, List found) {
    if (condition == null) return;
    if (condition instanceof And) {
      conjuncts((Expression) ((And) condition).left(), found);
      conjuncts((Expression) ((And) condition).right(), found);
    } else found.add(condition);
  }

  /** What JDBC reads is held in arrays, which are never equal: what was pushed down is compared instead. */
  private static boolean isSame(Scan mine, Scan other) {
    if (mine instanceof V1ScanWrapper && other instanceof V1ScanWrapper) {
      V1ScanWrapper a = (V1ScanWrapper) mine;
      V1ScanWrapper b = (V1ScanWrapper) other;
      return a.pushedDownOperators().equals(b.pushedDownOperators()) && a.readSchema().equals(b.readSchema())
          && a.handledFilters().equals(b.handledFilters());
    }
    return mine.getClass() == other.getClass() && mine.equals(other);
  }

  /** Aggregates, joins and variants make new columns; a pruned struct has a new type: such a scan cannot be made anew. */
  private static boolean isPartOf(scala.collection.Seq some, scala.collection.Seq all) {
    scala.collection.Iterator each = some.iterator();
    while (each.hasNext()) {
      Attribute one = (Attribute) each.next();
      boolean found = false;
      scala.collection.Iterator known = all.iterator();
      while (known.hasNext()) {
        Attribute other = (Attribute) known.next();
        found = found || other.exprId().equals(one.exprId()) && other.dataType().equals(one.dataType());
      }
      if (!found) return false;
    }
    return true;
  }
}
