package headgate.plan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;

/** Reads columns, expressions and conditions into maps for JSON; columns are expression ids. */
public class ExpressionReader {
  static List attributes(scala.collection.Seq output) {
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

  static List named(scala.collection.Seq columns) {
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

  static List expressions(scala.collection.Seq all) {
    List found = new ArrayList();
    scala.collection.Iterator each = all.iterator();
    while (each.hasNext()) found.add(expression((Expression) each.next()));
    return found;
  }

  static List conjuncts(Expression condition) {
    List found = new ArrayList();
    collectConjuncts(condition, found);
    return found;
  }

  private static void collectConjuncts(Expression condition, List found) {
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

  private static Map expression(Expression e) {
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
