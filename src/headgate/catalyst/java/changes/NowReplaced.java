package headgate.changes;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.CurrentDate;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestamp;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.LocalTimestamp;
import org.apache.spark.sql.catalyst.expressions.Now;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Puts a column in the place of now(), current_timestamp(), current_date() and localtimestamp(). */
class NowReplaced {
  private final Attribute now;
  private final Map named = new HashMap();  // id of a common expression, as BETWEEN makes them -> the expression

  private NowReplaced(Attribute now) { this.now = now; }

  static Expression in(Expression condition, Attribute now) { return new NowReplaced(now).of(condition); }

  private Expression of(Expression e) {
    if (e instanceof Now || e instanceof CurrentTimestamp) return now;
    if (e instanceof CurrentDate || e instanceof LocalTimestamp)
      return cast(e.dataType(), ((TimeZoneAwareExpression) e).timeZoneId());
    String name = e.getClass().getSimpleName();
    if (name.startsWith("Current") && name.contains("Time") && !name.equals("CurrentTimeZone") || name.startsWith("LocalTimestamp"))
      throw Conditions.refused(e, "is not known here; write now(), current_date() or localtimestamp()");
    if (e instanceof PlanExpression) throw Conditions.refused(e, "is a subquery, which a stream cannot have here");
    if (e instanceof CommonExpressionRef) return (Expression) named.get(((CommonExpressionRef) e).id());
    if (e instanceof With) return inWith((With) e);
    Expression fresh = withChildren(e);
    // It prints what it was made of, which still has now(), so what it stands for takes its place.
    return fresh != e && e instanceof RuntimeReplaceable ? (Expression) fresh.children().head() : fresh;
  }

  private Expression inWith(With with) {
    scala.collection.Iterator all = with.defs().iterator();
    while (all.hasNext()) {
      CommonExpressionDef each = (CommonExpressionDef) all.next();
      named.put(each.id(), of(each.child()));
    }
    return of(with.child());
  }

  private Expression withChildren(Expression e) {
    List children = new ArrayList();
    boolean changed = false;
    scala.collection.Iterator each = e.children().iterator();
    while (each.hasNext()) {
      Expression child = (Expression) each.next();
      Expression fresh = of(child);
      changed = changed || fresh != child;
      children.add(fresh);
    }
    if (!changed) return e;
    for (int i = 0; i < children.size(); i++) children.set(i, counted((Expression) children.get(i)));
    return (Expression) e.withNewChildren(Seqs.of(children));
  }

  /** The value of a constant: what Spark makes of `- INTERVAL 1 DAY`, say, has no name in SQL. */
  private static Expression counted(Expression e) {
    boolean constant = e.foldable() && !(e instanceof Literal) && !e.containsPattern(TreePattern$.MODULE$.RUNTIME_REPLACEABLE());
    return constant ? Literal.create(e.eval(null), e.dataType()) : e;
  }

  private Expression cast(DataType type, scala.Option zone) {
    DataType known = type.equals(DataTypes.DateType) ? DataTypes.DateType : DataTypes.TimestampNTZType;
    return new Cast(now, known, zone, EvalMode$.MODULE$.LEGACY());
  }
}
