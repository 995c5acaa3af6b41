package headgate.plan;

import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Subqueries;
import headgate.scan.KnownFiles;
import headgate.scan.ScanNames;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;
import org.apache.spark.sql.catalyst.plans.logical.*;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Reads a Catalyst plan into JSON that names columns by expression id; nodes are numbered in pre-order. */
public class PlanReader {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private final QueryContext context;
  private final ScanNames names;

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
    out.put("output", attributes(plan.output()));
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
      out.put("conjuncts", conjuncts((Expression) ((Filter) plan).condition()));
    } else if (plan instanceof Project) {
      out.put("op", "project");
      out.put("columns", named(((Project) plan).projectList()));
    } else if (plan instanceof Aggregate) aggregate((Aggregate) plan, out);
    else if (plan instanceof Window) {
      out.put("op", "window");
      out.put("keys", expressions(((Window) plan).partitionSpec()));
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
    if (plan.isStreaming()) out.put("streaming", Boolean.TRUE);
  }

  private void join(Join join, Map out) {
    out.put("op", "join");
    out.put("type", join.joinType() instanceof org.apache.spark.sql.catalyst.plans.ExistenceJoin ? "EXISTENCE" : join.joinType().sql());
    out.put("conjuncts", join.condition().isDefined() ? conjuncts((Expression) join.condition().get()) : new ArrayList());
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
    out.put("keys", expressions(plan.groupingExpressions()));
    out.put("columns", named(plan.aggregateExpressions()));
    out.put("repeatable", Boolean.valueOf(Repeatable.isRepeatable(plan)));
  }

  private void leaf(LogicalPlan plan, Map out) {
    out.put("op", "scan");
    out.put("bytes", String.valueOf(plan.stats().sizeInBytes()));
    if (plan instanceof LogicalRelation) {
      relation((LogicalRelation) plan, out);
    } else if (plan instanceof LocalRelation || plan instanceof OneRowRelation) {
      out.put("source", "local");
      out.put("table", "local data");
    } else if (plan instanceof Range) {
      out.put("source", "range");
      out.put("table", "range");
    } else if (plan instanceof InMemoryRelation) {
      out.put("source", Stability.isLoaded((InMemoryRelation) plan) ? "cached" : "cache");
      out.put("table", "cached data");
    } else if (plan instanceof LogicalRDD) {
      out.put("source", Stability.isCheckpoint((LogicalRDD) plan) ? "checkpoint" : "rdd");
      out.put("table", "RDD");
    } else {
      out.put("source", "other");
      out.put("table", plan.nodeName());
    }
  }

  private void relation(LogicalRelation plan, Map out) {
    if (!(plan.relation() instanceof HadoopFsRelation)) {
      String name = plan.relation().getClass().getSimpleName();
      out.put("source", name.indexOf("JDBC") >= 0 ? "jdbc" : "other");
      out.put("table", name);
      return;
    }
    HadoopFsRelation files = (HadoopFsRelation) plan.relation();
    boolean narrowed = KnownFiles.isNarrowed(files.location());
    String known = narrowed ? "narrowed" : KnownFiles.isParquet(files) ? "parquet" : "files";
    out.put("source", KnownFiles.isKnown(files.location()) ? known : "unknown files");
    if (KnownFiles.isByFieldId(files)) out.put("byFieldId", Boolean.TRUE);
    out.put("format", files.fileFormat().toString());
    out.put("bytes", String.valueOf(files.location().sizeInBytes()));
    out.put("table", names.of(plan));
    out.put("path", ScanNames.folder(files.location()));
    List partitions = new ArrayList();
    for (int i = 0; i < files.partitionSchema().fields().length; i++) partitions.add(files.partitionSchema().fields()[i].name());
    out.put("partitionColumns", partitions);
  }

  private List attributes(scala.collection.Seq output) {
    List found = new ArrayList();
    scala.collection.Iterator each = output.iterator();
    while (each.hasNext()) {
      Attribute attribute = (Attribute) each.next();
      List entry = new ArrayList();
      entry.add(Long.valueOf(attribute.exprId().id()));
      entry.add(attribute.name());
      entry.add(typeName(attribute));
      found.add(entry);
    }
    return found;
  }

  private List named(scala.collection.Seq columns) {
    List found = new ArrayList();
    scala.collection.Iterator each = columns.iterator();
    while (each.hasNext()) {
      NamedExpression column = (NamedExpression) each.next();
      List entry = new ArrayList();
      entry.add(Long.valueOf(column.exprId().id()));
      entry.add(expression((Expression) column));
      found.add(entry);
    }
    return found;
  }

  private List expressions(scala.collection.Seq all) {
    List found = new ArrayList();
    scala.collection.Iterator each = all.iterator();
    while (each.hasNext()) found.add(expression((Expression) each.next()));
    return found;
  }

  private List conjuncts(Expression condition) {
    List found = new ArrayList();
    collectConjuncts(condition, found);
    return found;
  }

  private void collectConjuncts(Expression condition, List found) {
    if (condition instanceof And) {
      collectConjuncts((Expression) ((And) condition).left(), found);
      collectConjuncts((Expression) ((And) condition).right(), found);
      return;
    }
    Map out = new LinkedHashMap();
    String symbol = symbol(condition);
    if (symbol != null) {
      out.put("op", symbol);
      out.put("left", expression((Expression) ((BinaryComparison) condition).left()));
      out.put("right", expression((Expression) ((BinaryComparison) condition).right()));
    } else if (condition instanceof IsNotNull) {
      out.put("op", "is not null");
    } else if (condition instanceof DynamicPruningSubquery) {
      out.put("op", "dynamic pruning");
      out.put("left", expression((Expression) ((DynamicPruningSubquery) condition).pruningKey()));
    } else {
      out.put("op", "other");
    }
    out.put("sql", shorten(condition));
    out.put("deterministic", Boolean.valueOf(condition.deterministic()));
    found.add(out);
  }

  private static String symbol(Expression e) {
    if (e instanceof EqualTo) return "=";
    if (e instanceof EqualNullSafe) return "<=>";
    if (e instanceof LessThan) return "<";
    if (e instanceof LessThanOrEqual) return "<=";
    if (e instanceof GreaterThan) return ">";
    if (e instanceof GreaterThanOrEqual) return ">=";
    return null;
  }

  private Map expression(Expression e) {
    Map out = new LinkedHashMap();
    // Spark wraps float keys so that NaN and -0.0 compare as it wants; domains compare them that way already
    while (e instanceof Alias || e instanceof KnownFloatingPointNormalized || e instanceof NormalizeNaNAndZero) {
      e = (Expression) e.children().head();
    }
    if (e instanceof AttributeReference) {
      out.put("column", Long.valueOf(((AttributeReference) e).exprId().id()));
    } else if (e instanceof Cast) {
      out.put("cast", expression((Expression) ((Cast) e).child()));
      out.put("type", typeName(e));
    } else {
      out.put("sql", shorten(e));
      out.put("literal", Boolean.valueOf(e.foldable()));
      out.put("deterministic", Boolean.valueOf(e.deterministic()));
    }
    List references = new ArrayList();
    scala.collection.Iterator each = e.references().iterator();
    while (each.hasNext()) references.add(Long.valueOf(((Attribute) each.next()).exprId().id()));
    out.put("references", references);
    return out;
  }

  private static String typeName(Expression e) {
    String name = e.dataType().catalogString();
    return name.length() <= 60 ? name : name.substring(0, 60);
  }

  private static String shorten(Expression e) {
    String text;
    try {
      text = e instanceof InSet ? e.prettyName() + "(...)" : e.sql();
    } catch (Exception unprintable) {
      text = e.prettyName() + "(...)";
    }
    return text.length() <= 160 ? text : text.substring(0, 157) + "...";
  }
}
