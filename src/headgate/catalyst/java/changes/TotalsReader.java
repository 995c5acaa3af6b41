package headgate.changes;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.DecimalDivideWithOverflowCheck;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers$;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Reads what is to be totalled from an aggregate as Spark has analyzed it, with Spark's own types and casts. */
public class TotalsReader {
  private final boolean ansi;
  private final List keys = new ArrayList();  // of Column
  private final List inputs = new ArrayList();  // of Expression
  private final List totals = new ArrayList();  // of Total
  private final StructType row;
  private final String text;

  /** Read an aggregate whose last columns, so many, are the totals. */
  public TotalsReader(LogicalPlan analyzed, int count, boolean ansi) {
    this.ansi = ansi;
    if (!(analyzed instanceof Aggregate)) throw new IllegalArgumentException("Each total has to be one of count, sum, min, max and avg over the columns of the stream.");
    Aggregate aggregate = (Aggregate) analyzed;
    List grouping = list(aggregate.groupingExpressions());
    for (int i = 0; i < grouping.size(); i++) keys.add(ExpressionUtils.column(NormalizeFloatingNumbers$.MODULE$.normalize((Expression) grouping.get(i))));
    List columns = list(aggregate.aggregateExpressions());
    StructField[] fields = aggregate.schema().fields();
    StructField[] made = new StructField[count];
    String named = "";
    int by = columns.size() - count;
    for (int i = by; i < columns.size(); i++) {
      Expression column = (Expression) columns.get(i);
      take(column instanceof Alias ? (Expression) ((Alias) column).child() : column);
      made[i - by] = fields[i];
      named += (i == by ? "" : ", ") + total(i - by).text + " of " + total(i - by).of;
    }
    row = new StructType(made);
    for (int i = 0; i < grouping.size(); i++) named += (i == 0 ? " by " : ", ") + ((Expression) grouping.get(i)).sql() + " " + ((Expression) grouping.get(i)).dataType().sql();
    text = named;
  }

  public List keys() { return keys; }
  public StructType row() { return row; }
  public String text() { return text; }

  /** The columns that the totals are made of. */
  public List inputs() {
    List columns = new ArrayList();
    for (int i = 0; i < inputs.size(); i++) columns.add(ExpressionUtils.column((Expression) inputs.get(i)));
    return columns;
  }

  /** The operator that keeps the totals. */
  public GroupTotals operator() {
    Total[] each = new Total[totals.size()];
    for (int i = 0; i < each.length; i++) each[i] = total(i);
    DataType[] types = new DataType[inputs.size()];
    for (int i = 0; i < types.length; i++) types[i] = ((Expression) inputs.get(i)).dataType();
    return new GroupTotals(new Totals(each, types, row, keys.isEmpty(), text));
  }

  private Total total(int i) { return (Total) totals.get(i); }

  private void take(Expression total) {
    if (!(total instanceof AggregateExpression)) throw refused(total, "is not one total: compute with totals in a `select` behind the aggregate");
    AggregateExpression called = (AggregateExpression) total;
    AggregateFunction function = called.aggregateFunction();
    String name = name(function);
    if (name == null) throw refused(total, "is none of count, sum, min, max and avg, which are those that can take rows back");
    if (called.isDistinct()) throw refused(total, "counts each value once, which is not supported: aggregate by that value first");
    if (called.filter().isDefined()) throw refused(total, "has a FILTER: write it as a CASE inside the function");
    if (((Expression) function).containsPattern(TreePattern$.MODULE$.CURRENT_LIKE())) throw refused(total, "looks at the clock, so a row could not be taken back as it came");
    List children = list(((Expression) function).children());
    Expression input = name.equals("count") ? present(children) : (Expression) children.get(0);
    DataType of = input == null ? null : input.dataType();
    boolean extreme = name.equals("min") || name.equals("max");
    if (extreme && OrderCode.width(of) < 0) throw refused(total, "compares values of type " + of.sql() + ", which have no order that can be kept");
    if (!extreme && !name.equals("count") && !(of instanceof NumericType)) throw refused(total, "adds up values of type " + of.sql() + "; only numbers can be added up");
    totals.add(new Total(total.sql(), name, input == null ? -1 : place(input), of, total.dataType(), ansi, quotient(function, of)));
  }

  /** By exact class and name: try_sum is a Sum, and means something else. */
  private static String name(AggregateFunction function) {
    String name = ((Expression) function).prettyName();
    if (function instanceof Count && name.equals("count")) return name;
    if (function instanceof Sum && name.equals("sum")) return name;
    if (function instanceof Min && name.equals("min")) return name;
    if (function instanceof Max && name.equals("max")) return name;
    return function instanceof Average && (name.equals("avg") || name.equals("mean")) ? "avg" : null;
  }

  /** Whether none of several values is NULL; null where none can be. */
  private static Expression present(List values) {
    Expression all = null;
    for (int i = 0; i < values.size(); i++) {
      Expression value = (Expression) values.get(i);
      if (!value.nullable()) continue;
      Expression present = (Expression) new IsNotNull(value);
      all = all == null ? present : (Expression) new And(all, present);
    }
    return all;
  }

  private int place(Expression input) {
    for (int i = 0; i < inputs.size(); i++) if (((Expression) inputs.get(i)).semanticEquals(input)) return i;
    inputs.add(input);
    return inputs.size() - 1;
  }

  /** How Spark makes the average of decimals from their sum and their count. */
  private Expression quotient(AggregateFunction function, DataType of) {
    if (!(function instanceof Average) || !(of instanceof DecimalType)) return null;
    BoundReference sum = new BoundReference(0, Total.ofSum((DecimalType) of), true);
    BoundReference count = new BoundReference(1, Total.COUNT, false);
    DecimalType type = (DecimalType) ((Expression) function).dataType();
    return (Expression) new DecimalDivideWithOverflowCheck((Expression) sum, (Expression) count, type, null, !ansi);
  }

  private static RuntimeException refused(Expression total, String why) { return new IllegalArgumentException("`" + total.sql() + "` " + why + "."); }

  private static List list(scala.collection.Iterable items) { return new ArrayList(scala.jdk.javaapi.CollectionConverters.asJavaCollection(items)); }
}
