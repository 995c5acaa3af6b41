package headgate.changes;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.With;

/** An expression whose columns are looked up by name again, so that it can be put over another plan with such columns. */
class ByName {
  private final Map common = new HashMap();  // id of a common expression, as BETWEEN makes them -> the expression

  static Expression of(Expression e) { return new ByName().in(e); }

  private Expression in(Expression e) {
    if (e instanceof PlanExpression) throw Conditions.refused(e, "is a subquery, which a stream cannot have here");
    if (e instanceof CommonExpressionRef) return (Expression) common.get(((CommonExpressionRef) e).id());
    if (e instanceof Attribute) return named((Attribute) e);
    if (e instanceof With) {
      scala.collection.Iterator all = ((With) e).defs().iterator();
      while (all.hasNext()) {
        CommonExpressionDef each = (CommonExpressionDef) all.next();
        common.put(each.id(), in((Expression) each.child()));
      }
      return in((Expression) ((With) e).child());
    }
    List children = new ArrayList();
    scala.collection.Iterator each = e.children().iterator();
    while (each.hasNext()) children.add(in((Expression) each.next()));
    return children.isEmpty() ? e : (Expression) e.withNewChildren(Seqs.of(children));
  }

  private static Expression named(Attribute column) {
    List name = new ArrayList();
    if (!column.qualifier().isEmpty()) name.add(column.qualifier().last());
    name.add(column.name());
    return new UnresolvedAttribute(Seqs.of(name));
  }
}
