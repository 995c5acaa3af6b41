package headgate.scan;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.adaptive.QueryStageExec;
import org.apache.spark.sql.execution.command.ExecutedCommandExec;
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.util.AccumulatorV2;

/** The scans and commands of a plan that ran, in subqueries and finished stages too, and what they counted. */
public class PlanLeaves {
  public final List scans = new ArrayList();
  public final List commands = new ArrayList();

  public static PlanLeaves of(QueryExecution execution) { return of(execution.executedPlan()); }

  public static PlanLeaves of(SparkPlan plan) {
    PlanLeaves found = new PlanLeaves();
    found.visit(plan);
    return found;
  }

  private void visit(SparkPlan plan) {
    if (plan instanceof AdaptiveSparkPlanExec) visit(((AdaptiveSparkPlanExec) plan).executedPlan());
    else if (plan instanceof QueryStageExec) visit(((QueryStageExec) plan).plan());
    else if (plan instanceof ExecutedCommandExec) commands.add((LogicalPlan) ((ExecutedCommandExec) plan).cmd());
    else if (plan instanceof ReusedExchangeExec) return;  // what it reads is counted where it was read
    else if (plan instanceof AlternativesExec) {
      visit(((AlternativesExec) plan).chosen());
      return;
    } else if (plan.children().isEmpty()) scans.add(plan);
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) visit((SparkPlan) each.next());
    scala.collection.Iterator inside = plan.subqueries().iterator();
    while (inside.hasNext()) visit((SparkPlan) inside.next());
  }

  /** What a metric counted, or -1 where the plan does not count it. */
  public static long metric(SparkPlan plan, String name) { return metric((scala.collection.Map) plan.metrics(), name); }

  public static long metric(scala.collection.Map metrics, String name) {
    scala.Option found = metrics.get(name);
    return found.isEmpty() ? -1L : ((Number) ((AccumulatorV2) (SQLMetric) found.get()).value()).longValue();
  }
}
