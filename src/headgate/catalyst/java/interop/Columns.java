package headgate.interop;

import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EvalMode$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnixDate;
import org.apache.spark.sql.catalyst.expressions.UnixMicros;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Finds a column of a plan by its expression id, and makes a whole number of it. */
public class Columns {
  public static Attribute find(LogicalPlan plan, long id) {
    scala.collection.Iterator each = plan.output().iterator();
    while (each.hasNext()) {
      Attribute attribute = (Attribute) each.next();
      if (attribute.exprId().id() == id) return attribute;
    }
    throw new IllegalArgumentException("no column #" + id + " in " + plan.nodeName());
  }

  /** Dates count as days and times as microseconds, as they do inside Spark. */
  public static Expression asLong(Attribute column) {
    DataType type = column.dataType();
    if (type.equals(DataTypes.LongType)) return column;
    if (type.equals(DataTypes.DateType)) return cast(new UnixDate(column));
    if (type.equals(DataTypes.TimestampType)) return new UnixMicros(column);
    return cast(column);
  }

  private static Expression cast(Expression inner) {
    return new Cast(inner, DataTypes.LongType, scala.Option.empty(), EvalMode$.MODULE$.LEGACY());
  }
}
