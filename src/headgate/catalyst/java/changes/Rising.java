package headgate.changes;

import headgate.interop.SparkVersion;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;

/**
 * Whether an expression of the time rises with it, or stays.
 *
 * Days and months have different lengths: for an hour or some days, `now() - INTERVAL 1 MONTH` may go back a little. The
 * operator holds the value then (OneWay.HELD).
 */
class Rising {
  private static final Set STEPS = new HashSet(Arrays.asList(new String[] {
      "TruncTimestamp", "TruncDate", "LastDay", "DateAdd", "DateSub", "AddMonths", "DateAddInterval", "DateAddYMInterval",
      "TimestampAddYMInterval", "TimestampAdd", "UnixSeconds", "UnixMillis", "UnixMicros", "UnixDate",
      "UnixTimestamp", "ToUnixTimestamp"}));

  static void check(Expression time) {
    if (!rises(time))
      throw Conditions.refused(time, "does not always rise with the time; what does is now(), current_date() and localtimestamp(), "
          + "plus or minus constants, cast to a date or timestamp, cut by date_trunc or trunc, or in unix_seconds");
  }

  private static boolean rises(Expression e) {
    if (e instanceof Attribute) return true;
    if (e instanceof Cast) return isKnown(e.dataType()) && rises((Expression) e.children().head());
    boolean step = SparkVersion.isTimestampAdd(e) || STEPS.contains(e.getClass().getSimpleName());
    if (e instanceof Subtract) return !hasTime((Expression) e.children().last()) && rises((Expression) e.children().head());
    if (!step && !(e instanceof Add)) return false;
    int timed = 0;
    scala.collection.Iterator all = e.children().iterator();
    while (all.hasNext()) {
      Expression child = (Expression) all.next();
      if (!hasTime(child)) continue;
      timed++;
      if (!rises(child) || child.dataType().equals(DataTypes.IntegerType) && !(e instanceof Add)) return false;
    }
    return timed == 1;
  }

  private static boolean hasTime(Expression e) { return !e.references().isEmpty(); }

  private static boolean isKnown(DataType type) {
    return type.equals(DataTypes.DateType) || type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType)
        || type.equals(DataTypes.LongType) || type.equals(DataTypes.DoubleType) || type instanceof DecimalType;
  }
}
