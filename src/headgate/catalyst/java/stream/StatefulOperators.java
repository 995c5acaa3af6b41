package headgate.stream;

import headgate.interop.Seqs;
import headgate.interop.SparkVersion;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.streaming.GroupStateTimeout;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;

/**
 * Which rows each stateful operator throws away as late: what its physical operator does with late events, in words
 * of the logical plan. An operator that is not known here keeps every row.
 */
public class StatefulOperators {
  private static final String DELAY = "spark.watermarkDelayMs";
  private static final String SESSION = "spark.sessionWindow";
  private final MicroBatch batch;

  public StatefulOperators(MicroBatch batch) { this.batch = batch; }

  public static boolean isStateful(LogicalPlan plan) {
    if (!plan.isStreaming()) return false;
    if (plan instanceof Join) return ((LogicalPlan) ((Join) plan).left()).isStreaming() && ((LogicalPlan) ((Join) plan).right()).isStreaming();
    return plan instanceof Aggregate || plan instanceof Distinct || plan instanceof GlobalLimit || plan instanceof LocalLimit
        || plan instanceof Deduplicate || plan instanceof DeduplicateWithinWatermark
        || plan instanceof FlatMapGroupsWithState || plan instanceof FlatMapGroupsInPandasWithState
        || plan instanceof TransformWithState || SparkVersion.isPythonTransform(plan);
  }

  /** One demand for each child. */
  public List demands(LogicalPlan plan) throws Exception {
    List found = new ArrayList();
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) found.add(demand(plan, (LogicalPlan) each.next(), found.size()));
    return found;
  }

  private Demand demand(LogicalPlan plan, LogicalPlan child, int number) throws Exception {
    Demand moving = MovingCut.demand(plan, child, batch);
    if (moving != null) return moving;
    String refusal = refusal(plan, number);
    if (refusal != null) return Demand.nothing(refusal);
    // the watermark of an operator is the lowest that its inputs let through; only a plain input surely lets all through
    if (feedsOnState(plan)) return Demand.nothing("another stateful operator feeds " + plan.nodeName() + ", so its watermark may be lower");
    List candidates = plan instanceof Aggregate ? keys((Aggregate) plan) : columns(child.output());
    if (candidates.isEmpty()) return Demand.nothing(plan.nodeName() + " has no event time column to find late rows by");
    if (candidates.size() > 1) return Demand.nothing(plan.nodeName() + " has several event time columns");
    Expression time = (Expression) candidates.get(0);
    List expressions = new ArrayList();
    expressions.add(time.dataType() instanceof StructType ? new GetStructField(time, 1, scala.Option.empty()) : time);
    return Demand.late(expressions);
  }

  /** Why this operator drops no late rows of its input, or null if it does. */
  private String refusal(LogicalPlan plan, int number) throws Exception {
    if (plan instanceof Aggregate) return aggregate((Aggregate) plan);
    if (plan instanceof Deduplicate || plan instanceof DeduplicateWithinWatermark || plan instanceof Join) return null;
    if (number > 0) return "the source is an initial state, in which no row is late";
    boolean byEventTime;
    if (plan instanceof FlatMapGroupsWithState) byEventTime = isEventTime(((FlatMapGroupsWithState) plan).timeout());
    else if (plan instanceof FlatMapGroupsInPandasWithState) byEventTime = isEventTime(((FlatMapGroupsInPandasWithState) plan).timeout());
    else if (plan instanceof TransformWithState) byEventTime = ((TransformWithState) plan).timeMode().equals(TimeMode.EventTime());
    else if (SparkVersion.isPythonTransform(plan)) byEventTime = SparkVersion.timeMode(plan).equals(TimeMode.EventTime());
    else return plan.nodeName() + " drops no late rows";
    return byEventTime ? null : plan.nodeName() + " does not use event time, so it drops no late rows";
  }

  private static boolean isEventTime(Object timeout) { return GroupStateTimeout.EventTimeTimeout().equals(timeout); }

  private String aggregate(Aggregate plan) throws Exception {
    if ("Complete".equals(batch.outputMode())) return "complete output mode keeps every group, so Spark drops no late rows";
    if (isSet("spark.sql.streaming.useStreamlineAggregator")) return "Headgate does not know the aggregator of spark.sql.streaming.useStreamlineAggregator=true";
    boolean merges = isSet("spark.sql.streaming.sessionWindow.merge.sessions.in.local.partition");
    return merges && isSession(plan) ? "sessions are merged before late rows are dropped, so a late row may matter" : null;
  }

  private boolean isSet(String key) { return "true".equals(batch.conf.getConfString(key, "false")); }

  private static boolean isSession(Aggregate plan) {
    scala.collection.Iterator each = plan.groupingExpressions().iterator();
    while (each.hasNext()) {
      Object key = each.next();
      if (key instanceof NamedExpression && ((NamedExpression) key).metadata().contains(SESSION)) return true;
    }
    return false;
  }

  private static boolean feedsOnState(LogicalPlan plan) {
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) {
      LogicalPlan child = (LogicalPlan) each.next();
      if (isStateful(child) || feedsOnState(child)) return true;
    }
    return false;
  }

  /** The state of an aggregate holds its keys and its sums; only a key can be an event time. */
  private static List keys(Aggregate plan) {
    List named = new ArrayList();
    scala.collection.Iterator each = plan.groupingExpressions().iterator();
    while (each.hasNext()) {
      Object key = each.next();
      if (key instanceof Attribute) named.add(key);
    }
    return columns(Seqs.of(named));
  }

  private static List columns(scala.collection.Seq output) {
    List found = new ArrayList();
    scala.collection.Iterator each = output.iterator();
    while (each.hasNext()) {
      Attribute column = (Attribute) each.next();
      boolean known = false;
      for (int i = 0; i < found.size(); i++) known = known || ((Attribute) found.get(i)).exprId().equals(column.exprId());
      if (column.metadata().contains(DELAY) && !known) found.add(column);
    }
    return found;
  }
}
