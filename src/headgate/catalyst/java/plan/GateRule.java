package headgate.plan;

import headgate.format.Published;
import headgate.interop.Failures;
import headgate.interop.ListenerBus;
import headgate.interop.Rethrow;
import headgate.interop.SessionResources;
import headgate.late.QueryEnds;
import headgate.scan.Alternatives;
import headgate.scan.EvenTasks;
import headgate.scan.KnownFiles;
import headgate.scan.ToldScans;
import headgate.stream.StreamGate;
import headgate.tap.Taps;
import java.lang.ref.WeakReference;
import org.apache.spark.sql.catalyst.plans.logical.CommandResult;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Subquery;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;

/**
 * Hands each optimized plan that has a join, or a column that values are published for, to Python, and takes back the narrowed plan.
 *
 * Any failure leaves the plan as it was, except a cancellation by the user, which must end the query.
 */
public class GateRule extends Rule {
  private final SparkSession session;
  private final scala.Function1 rewrite;
  private final ThreadLocal finished = new ThreadLocal();
  private volatile WeakReference lastSeen;
  private volatile long seen;
  private volatile long seenNumber;
  private final Failures failures = new Failures();
  private volatile boolean closed;
  /** Whether only DataFrames that ask for it are filtered. */
  private volatile boolean onlyMarked;
  private final ThreadLocal paused = new ThreadLocal();
  private final QueryEnds ends = new QueryEnds();
  private final Taps taps = new Taps();
  private final ToldScans told = new ToldScans();
  private final SeenQueries queries = new SeenQueries();
  private final EvenTasks even;

  public GateRule(SparkSession session, scala.Function1 rewrite) {
    super();
    this.session = session;
    this.rewrite = rewrite;
    this.even = new EvenTasks(session);
    session.listenerManager().register(ends);
    session.listenerManager().register(told);
    session.listenerManager().register(queries);
    session.sparkContext().addSparkListener(taps);
  }

  public TreeNode apply(TreeNode plan) {
    // the batch runs to a fixed point: a plan that was just returned from here is done
    if (closed || paused.get() != null || plan == held((WeakReference) finished.get())) return plan;
    if (SessionResources.areOfAnother(session)) return plan;
    // a subquery is optimized by itself first, but may yet become a join of the whole plan
    if (plan instanceof Subquery) return plan;
    LogicalPlan logical = (LogicalPlan) plan;
    boolean mayFilter = logical.containsPattern(TreePattern$.MODULE$.JOIN()) || Published.isIn(logical);
    boolean isAQuery = mayFilter || !(isNested() || isForAListener() || isOfACommand(logical));
    if (isAQuery && (mayFilter || !mayShowACommand(logical))) {
      lastSeen = new WeakReference(logical);
      seen++;
    }
    if (logical.isStreaming()) return !onlyMarked && enabled() ? streaming(logical) : plan;
    if (isAQuery) remember(logical, whyNot(logical, mayFilter));
    if (!isWanted(logical) || isWritten(logical)) return plan;
    DeltaMerge merge = DeltaMerge.of(logical);
    if (merge != null) return merged(logical, merge);
    NarrowedSubqueries subqueries = new NarrowedSubqueries(this);
    subqueries.prepare(logical);
    LogicalPlan result = mayFilter ? narrowed(logical) : logical;
    if (!subqueries.isEmpty()) result = subqueries.inTree(result);
    finished.set(new WeakReference(result));
    return result;
  }

  /** The session whose query is planned: a copy of the gate's own, as streams and caches have, has settings of its own. */
  private SparkSession current() {
    scala.Option active = SparkSession.getActiveSession();
    return active.isDefined() ? (SparkSession) active.get() : session;
  }

  /** Whether the plan is of a query in the middle of another one: a table format asks its own log which files to read. */
  private boolean isNested() {
    String own = session.sparkContext().getLocalProperty("spark.sql.execution.id");
    String root = session.sparkContext().getLocalProperty("spark.sql.execution.root.id");
    return own != null && root != null && !own.equals(root);
  }

  /** Whether a listener of Spark asks: when a query of Delta has ended, Delta looks at its log once more. */
  private static boolean isForAListener() { return Thread.currentThread().getName().startsWith("spark-listener-group-"); }

  /** Whether a plan may show what a command has said, which Spark makes rows of: the report after it is that of the command. */
  private boolean mayShowACommand(LogicalPlan plan) {
    if (reads(plan)) return false;
    String id = session.sparkContext().getLocalProperty("spark.sql.execution.id");
    QueryExecution running = id == null ? null : SQLExecution.getQueryExecution(Long.parseLong(id));
    return running == null || hasOnlyRows(running.analyzed());
  }

  /** Whether rows of its own are all that a plan has: `show` gives those of a command so. */
  private static boolean hasOnlyRows(LogicalPlan plan) { return hasOnlyRows(plan, false); }

  /** Whether a plan reads anything: what shows the outcome of a command, or rows of its own, does not. */
  private static boolean reads(LogicalPlan plan) { return !hasOnlyRows(plan, true); }

  private static boolean hasOnlyRows(LogicalPlan plan, boolean orOneRow) {
    scala.collection.Iterator each = plan.collectLeaves().iterator();
    while (each.hasNext()) {
      Object leaf = each.next();
      boolean isRows = leaf instanceof LocalRelation || leaf instanceof CommandResult;
      if (!isRows && !(orOneRow && leaf instanceof OneRowRelation)) return false;
    }
    return true;
  }

  /** Whether a plan only shows what a command has said: the command was a query of its own. */
  private static boolean isOfACommand(LogicalPlan plan) {
    LogicalPlan at = plan;
    while (at.children().size() == 1) at = (LogicalPlan) at.children().apply(0);
    return at instanceof CommandResult;
  }

  /** A plan with its filters, or itself where there are none; only a cancellation by the user gets through. */
  LogicalPlan narrowed(LogicalPlan plan) { return narrowed(contextOf(plan, current())); }

  private LogicalPlan narrowed(QueryContext context) {
    LogicalPlan result = context.plan;
    try {
      context.number = queries.note(session, result, null);
      Object rewritten = rewrite.apply(context);
      if (rewritten instanceof LogicalPlan) result = (LogicalPlan) rewritten;
    } catch (Throwable failure) {
      failures.note("a query", failure, context.number);
      if (failure instanceof Error && !(failure instanceof LinkageError)) throw (Error) failure;
    }
    if (context.cancelled != null) Rethrow.raise(context.cancelled);
    return result;
  }

  /** A MERGE with the ranges of its source's keys, or itself. */
  private LogicalPlan merged(LogicalPlan plan, DeltaMerge merge) {
    LogicalPlan result = plan;
    try {
      QueryContext context = contextOf(merge.asJoin(current()), current());
      result = merge.with(narrowed(context), context);
    } catch (Throwable failure) {
      failures.note("a MERGE", failure, seenNumber);
      if (failure instanceof Error && !(failure instanceof LinkageError)) throw (Error) failure;
    }
    finished.set(new WeakReference(result));
    return result;
  }

  /** A micro-batch stays in the JVM: a call to Python in each batch would cost more than most batches can save. */
  private TreeNode streaming(LogicalPlan plan) {
    LogicalPlan result = plan;
    try {
      result = StreamGate.narrow(session, plan, failures);
    } catch (Throwable failure) {
      failures.note("a micro-batch", failure, 0L);
      if (failure instanceof Error && !(failure instanceof LinkageError)) throw (Error) failure;
    }
    finished.set(new WeakReference(result));
    return result;
  }

  /** Plans are held weakly: a finished plan may carry megabytes of collected rows. */
  private static Object held(WeakReference reference) { return reference == null ? null : reference.get(); }

  private boolean isWanted(LogicalPlan plan) { return (!onlyMarked && enabled()) || Marks.isMarked(plan); }

  /** Other rules may bring a plan here again that carries its filters already. */
  private static boolean isWritten(LogicalPlan plan) {
    HadoopFsRelation files = KnownFiles.of(plan);
    if (plan instanceof Alternatives || (files != null && KnownFiles.isNarrowed(files.location()))) return true;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (isWritten((LogicalPlan) each.next())) return true;
    return false;
  }

  /** A query that cannot be told of is a query all the same. */
  private void remember(LogicalPlan plan, String note) {
    seenNumber = 0L;
    try {
      seenNumber = queries.note(session, plan, note);
    } catch (Throwable failure) {
      failures.note("the record of a query", failure, 0L);
    }
  }

  /** Why Headgate does not look at a plan, or null if it does. */
  private String whyNot(LogicalPlan plan, boolean mayFilter) {
    if (!isWanted(plan)) return onlyMarked ? "Headgate is not enabled in this session" : "spark.headgate.enabled is false";
    return mayFilter ? null : "it has no join, so there is nothing to learn a filter from";
  }

  public void filterOnlyMarked(boolean only) { onlyMarked = only; }

  private boolean enabled() {
    return !"false".equals(current().sessionState().conf().getConfString("spark.headgate.enabled", "true"));
  }

  public void close() {
    closed = true;
    session.listenerManager().unregister(ends);
    session.listenerManager().unregister(told);
    session.listenerManager().unregister(queries);
    session.sparkContext().removeSparkListener(taps);
  }

  /** The queries with late filters that have ended since this was asked last. */
  public java.util.List endedQueries() { return ends.take(); }
  public void pause() { paused.set(Boolean.TRUE); }
  public void resume() { paused.remove(); }
  /** What the session sets explicitly for a key, or null. */
  public String explicit(String key) {
    scala.Option found = session.sessionState().conf().getAllConfs().get(key);
    return found.isDefined() ? (String) found.get() : null;
  }

  public LogicalPlan lastSeen() { return (LogicalPlan) held(lastSeen); }
  public long seen() { return seen; }
  /** The number of the query that was seen last, or 0. */
  public long seenNumber() { return seenNumber; }
  public java.util.List failures() { return failures.texts(); }
  public java.util.List failuresOf(long number) { return failures.of(number); }
  /** The queries of the session that are new or have ended since a version, as JSON. */
  public String queriesSince(long version) throws Exception { return queries.since(version); }
  /** What is known of one query, as JSON, or null; its end is told by then, if it has ended. */
  public String queryOf(long number) throws Exception {
    if (queries.isOpen(number)) ListenerBus.await(session.sparkContext(), 5000L);
    return queries.of(number);
  }

  /** Waits until Spark has told its listeners what happened so far, such as the end of the last query. */
  public void awaitEnds() { ListenerBus.await(session.sparkContext(), 5000L); }
  public QueryContext contextOf(LogicalPlan plan) { return contextOf(plan, session); }
  private QueryContext contextOf(LogicalPlan plan, SparkSession of) { return new QueryContext(of, plan, taps, even, ends); }
}
