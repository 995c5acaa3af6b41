package headgate.plan;

import headgate.build.KeptRows;
import headgate.format.MergeTarget;
import headgate.interop.Seqs;
import headgate.interop.SparkVersion;
import headgate.interop.Subqueries;
import headgate.interop.Trees;
import headgate.scan.Alternatives;
import headgate.scan.KnownFiles;
import headgate.scan.ToldScans;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.Inner$;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint$;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/**
 * A MERGE into a Delta table: its condition gets the ranges that hold the keys of its source, by which Delta skips files.
 *
 * The ranges follow from the condition, so nothing else is matched. They hold for the rows that were read for them, so the
 * MERGE goes on with those very rows as its source; a source that is too large to keep is left alone, and so is a MERGE
 * with WHEN NOT MATCHED BY SOURCE, which needs every row of its target.
 */
public class DeltaMerge {
  private static final String COMMAND = "org.apache.spark.sql.delta.commands.MergeIntoCommand";
  private final LogicalPlan command;
  private final LogicalPlan source;
  private final LogicalPlan target;
  private final Expression condition;

  private DeltaMerge(LogicalPlan command) throws Exception {
    this.command = command;
    this.source = (LogicalPlan) SparkVersion.read(command, "source");
    this.target = (LogicalPlan) SparkVersion.read(command, "target");
    this.condition = (Expression) SparkVersion.read(command, "condition");
  }

  /** The MERGE that a plan is, or null where it is none or needs its whole target. */
  public static DeltaMerge of(LogicalPlan plan) {
    if (!plan.getClass().getName().equals(COMMAND)) return null;
    try {
      boolean needsAll = !((scala.collection.Seq) SparkVersion.read(plan, "notMatchedBySourceClauses")).isEmpty();
      DeltaMerge merge = new DeltaMerge(plan);
      return needsAll || merge.source.isStreaming() || merge.readsItsTarget() ? null : merge;
    } catch (Exception other) {
      return null;  // another version of Delta
    }
  }

  /**
   * Whether the source reads the table that is changed. Delta then reads it within its transaction, and notices what others
   * write meanwhile; rows that were read before would undo that.
   */
  private boolean readsItsTarget() {
    java.util.Set targets = new java.util.HashSet();
    java.util.Set sources = new java.util.HashSet();
    roots(target, targets);
    roots(source, sources);
    return targets.isEmpty() || !java.util.Collections.disjoint(targets, sources);
  }

  private static void roots(LogicalPlan plan, java.util.Set found) {
    HadoopFsRelation files = KnownFiles.of(plan);
    if (files != null) {
      scala.collection.Iterator paths = files.location().rootPaths().iterator();
      while (paths.hasNext()) found.add(paths.next().toString());
    }
    if (plan instanceof InMemoryRelation) roots(((InMemoryRelation) plan).cacheBuilder().logicalPlan(), found);
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) roots((LogicalPlan) each.next(), found);
    List inside = Subqueries.of(plan);
    for (int i = 0; i < inside.size(); i++) roots((LogicalPlan) inside.get(i), found);
  }

  /** The join that the MERGE is, as far as the files of its target are concerned. */
  public LogicalPlan asJoin(SparkSession session) {
    LogicalPlan optimized = session.sessionState().executePlan(source, org.apache.spark.sql.execution.CommandExecutionMode$.MODULE$.ALL()).optimizedPlan();
    return new Join(new MergeTarget(target), optimized, Inner$.MODULE$, scala.Option.apply(condition), JoinHint$.MODULE$.NONE());
  }

  /** The MERGE with what was found for its join, or itself where nothing was. */
  public LogicalPlan with(LogicalPlan narrowed, QueryContext context) {
    if (!(narrowed instanceof Join)) return command;
    Expression ranges = ranges((LogicalPlan) ((Join) narrowed).left());
    List rows = rows((LogicalPlan) ((Join) narrowed).right());
    if (ranges == null || rows == null) return command;
    LogicalPlan kept = new LocalRelation(source.output(), Seqs.of(rows), false, scala.Option.empty());
    Object[] fields = Trees.fields(command);
    for (int i = 0; i < fields.length; i++) {
      if (fields[i] == source) fields[i] = kept;
      else if (fields[i] == condition) fields[i] = new And(condition, ranges);
    }
    LogicalPlan told = (LogicalPlan) command.makeCopy(fields);
    ToldScans.expect(told, 1, context.reads, new ArrayList());
    return told;
  }

  private static Expression ranges(LogicalPlan side) {
    LogicalPlan told = side instanceof Alternatives ? ((Alternatives) side).told : side;
    return told instanceof Filter && ((Filter) told).child() instanceof MergeTarget ? (Expression) ((Filter) told).condition() : null;
  }

  private static List rows(LogicalPlan side) {
    if (!(side instanceof LogicalRDD) || !(((LogicalRDD) side).rdd() instanceof KeptRows)) return null;
    return ((KeptRows) ((LogicalRDD) side).rdd()).rows();
  }
}
