package headgate.plan;

import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.format.Repeatable;
import headgate.format.Stability;
import headgate.format.TableFormats;
import headgate.interop.Subqueries;
import headgate.scan.ScanNames;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.plans.logical.*;

/** Reads a Catalyst plan into JSON that names columns by expression id; nodes are numbered in pre-order. */
public class PlanReader {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private final QueryContext context;
  private final ScanNames names;
  /** The rows of a MERGE's target, to which Spark gives numbers of its own. */
  private LogicalPlan numbered;

  public PlanReader(QueryContext context) {
    this.context = context;
    this.names = new ScanNames(context.session);
  }

  public byte[] read() throws Exception {
    Map document = new LinkedHashMap();
    context.nodes.clear();
    document.put("session", session());
    document.put("root", node(context.plan));
    return MAPPER.writeValueAsBytes(document);
  }

  private Map session() {
    Map settings = new LinkedHashMap();
    scala.collection.Iterator all = context.session.sessionState().conf().getAllConfs().iterator();
    while (all.hasNext()) {
      scala.Tuple2 entry = (scala.Tuple2) all.next();
      if (((String) entry._1()).startsWith("spark.headgate.")) settings.put(entry._1(), entry._2());
    }
    Map found = new LinkedHashMap();
    found.put("settings", settings);
    found.put("broadcastBytes", Long.valueOf(context.session.sessionState().conf().autoBroadcastJoinThreshold()));
    found.put("caseSensitive", Boolean.valueOf(context.session.sessionState().conf().caseSensitiveAnalysis()));
    return found;
  }

  private Map node(LogicalPlan plan) {
    Map out = new LinkedHashMap();
    out.put("id", Integer.valueOf(context.nodes.size()));
    context.nodes.add(plan);
    out.put("output", ExpressionReader.attributes(plan.output()));
    describe(plan, out);
    List children = new ArrayList();
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) children.add(node((LogicalPlan) each.next()));
    out.put("children", children);
    return out;
  }

  private void describe(LogicalPlan plan, Map out) {
    if (plan instanceof Join) join((Join) plan, out);
    else if (plan instanceof Filter) {
      out.put("op", "filter");
      out.put("conjuncts", ExpressionReader.conjuncts((Expression) ((Filter) plan).condition()));
    } else if (plan instanceof Project) {
      out.put("op", "project");
      out.put("columns", ExpressionReader.named(((Project) plan).projectList()));
    } else if (plan instanceof Aggregate) aggregate((Aggregate) plan, out);
    else if (plan instanceof Window) {
      out.put("op", "window");
      out.put("keys", ExpressionReader.expressions(((Window) plan).partitionSpec()));
    } else if (plan instanceof Union) out.put("op", "union");
    else if (plan instanceof LocalLimit || plan instanceof GlobalLimit || plan instanceof Offset || plan instanceof Tail) {
      out.put("op", "limit");
    } else if (plan instanceof Sort) out.put("op", "sort");
    else if (plan instanceof RepartitionOperation || plan instanceof RebalancePartitions) out.put("op", "repartition");
    else if (plan.children().isEmpty()) leaf(plan, out);
    else {
      out.put("op", "other");
      out.put("name", plan.nodeName());
    }
    if (Subqueries.areIn(plan)) {
      out.put("subquery", Boolean.TRUE);
      if (!Stability.areSubqueriesStable(plan)) out.put("unstableSubquery", Boolean.TRUE);
    }
    if (!plan.deterministic()) out.put("deterministic", Boolean.FALSE);
    if (plan instanceof MergeRows) numbered = MergeJoin.numbered((MergeRows) plan);
    if (plan == numbered) out.put("numbered", Boolean.TRUE);
    if (plan.isStreaming()) out.put("streaming", Boolean.TRUE);
  }

  private void join(Join join, Map out) {
    out.put("op", "join");
    out.put("type", join.joinType() instanceof org.apache.spark.sql.catalyst.plans.ExistenceJoin ? "EXISTENCE" : join.joinType().sql());
    out.put("conjuncts", join.condition().isDefined() ? ExpressionReader.conjuncts((Expression) join.condition().get()) : new ArrayList());
    out.put("smaller", Long.valueOf(hinted(join) ? 0L : Math.min(bytes(join.left()), bytes(join.right()))));
  }

  /** Whether a side is broadcast because the query says so. */
  private static boolean hinted(Join join) { return join.hint().toString().contains("strategy=broadcast"); }

  /** Spark's own estimate, by which it decides what to broadcast. */
  private static long bytes(LogicalPlan plan) {
    scala.math.BigInt estimate = plan.stats().sizeInBytes();
    return estimate.isValidLong() ? estimate.toLong() : Long.MAX_VALUE;
  }

  private void aggregate(Aggregate plan, Map out) {
    out.put("op", "aggregate");
    out.put("keys", ExpressionReader.expressions(plan.groupingExpressions()));
    out.put("columns", ExpressionReader.named(plan.aggregateExpressions()));
    out.put("repeatable", Boolean.valueOf(Repeatable.isRepeatable(plan)));
  }

  private void leaf(LogicalPlan plan, Map out) {
    out.put("op", "scan");
    out.put("bytes", String.valueOf(plan.stats().sizeInBytes()));
    TableFormats.of(plan).describe(plan, names, out);
  }
}
