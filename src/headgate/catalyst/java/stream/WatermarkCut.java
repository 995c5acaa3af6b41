package headgate.stream;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;

/**
 * Carries the late test of each stateful operator down to the sources that feed it.
 *
 * The operator nearest to a source decides: what it drops, nothing above it ever sees, and what it keeps must be read.
 * On the way down the test passes the watermark node, where it becomes a cut-off on the event time, and ends at the
 * source, or above the first node that it may not pass. A row at or below the cut-off is below the watermark too, so
 * the largest event time that the watermark node has to see is never lost.
 */
public class WatermarkCut {
  private final MicroBatch batch;
  private final BatchRecord record;
  private final StatefulOperators operators;

  public WatermarkCut(MicroBatch batch, BatchRecord record) {
    this.batch = batch;
    this.record = record;
    this.operators = new StatefulOperators(batch);
  }

  public LogicalPlan narrow(LogicalPlan plan) throws Exception {
    return walk(plan, Demand.nothing("no stateful operator reads this source, so Spark drops no late rows"));
  }

  private LogicalPlan walk(LogicalPlan plan, Demand demand) throws Exception {
    if (!plan.isStreaming()) return plan;
    if (plan.children().isEmpty()) return source(plan, demand);
    List demands = demands(plan, demand);
    if (demands == null) {
      StreamSource here = new StreamSource(batch, record, plan.nodeName());
      Demand rest = Demand.nothing("late rows are filtered above " + plan.nodeName() + ", not at the source");
      return here.filter(children(plan, demands(plan, rest)), demand);
    }
    return children(plan, demands);
  }

  /** What is asked of each child, or null where a cut-off may go no further. */
  private List demands(LogicalPlan plan, Demand demand) throws Exception {
    if (StatefulOperators.isStateful(plan)) return demand.isCut() ? null : operators.demands(plan);
    if (plan instanceof EventTimeWatermark) return demand.isCut() ? null : all(plan, atWatermark((EventTimeWatermark) plan, demand));
    if (!demand.isCut() && !demand.isLate()) return all(plan, demand);
    List found = new ArrayList();
    for (int i = 0; i < plan.children().size(); i++) {
      boolean streams = ((LogicalPlan) plan.children().apply(i)).isStreaming();
      Demand below = streams ? PushThrough.through(plan, i, demand) : Demand.nothing("a table is read whole");
      if (below == null && demand.isCut() && plan instanceof Union && MovingCut.isNull(plan, (LogicalPlan) plan.children().apply(i), demand.column)) {
        below = Demand.nothing("its rows are what others are compared with");
      }
      if (below == null && demand.isCut()) return null;
      found.add(below == null ? Demand.nothing(plan.nodeName() + " comes before the operator that drops late rows, and needs every row") : below);
    }
    return found;
  }

  private Demand atWatermark(EventTimeWatermark node, Demand demand) {
    Attribute time = (Attribute) node.eventTime();
    if (!EventOrder.isTime(time)) return Demand.nothing(time.name() + " is not a timestamp");
    Long cut = null;
    String reason = demand.reason;
    if (demand.isLate() && batch.lateMs <= 0L) reason = "there is no watermark yet";
    else if (demand.isLate()) {
      cut = EventOrder.cut(demand.expressions, time, batch.lateMs * 1000L);
      reason = "Headgate cannot tell from " + time.name() + " alone whether a row is late";
    }
    if (batch.isStrict() && batch.currentMs > 0L && (cut == null || cut.longValue() < batch.strictCut())) cut = Long.valueOf(batch.strictCut());
    return cut == null ? Demand.nothing(reason) : Demand.cut(time, cut.longValue());
  }

  private LogicalPlan source(LogicalPlan plan, Demand demand) throws Exception {
    boolean known = plan instanceof LogicalRelation || plan instanceof LogicalRDD || plan instanceof StreamingDataSourceV2ScanRelation;
    if (!known || plan instanceof LocalRelation) return plan;
    return new StreamSource(batch, record, plan).narrow(demand);
  }

  private LogicalPlan children(LogicalPlan plan, List demands) throws Exception {
    List fresh = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < demands.size(); i++) {
      LogicalPlan child = (LogicalPlan) plan.children().apply(i);
      fresh.add(walk(child, (Demand) demands.get(i)));
      changed = changed || fresh.get(i) != child;
    }
    return changed ? (LogicalPlan) plan.withNewChildren(Seqs.of(fresh)) : plan;
  }

  private static List all(LogicalPlan plan, Demand demand) {
    List found = new ArrayList();
    for (int i = 0; i < plan.children().size(); i++) found.add(demand);
    return found;
  }
}
