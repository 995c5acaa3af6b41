package headgate.stream;

import org.apache.spark.api.python.PythonEvalType;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * Which Python functions see one row at a time. Vectorised ones see batches: a row left out gives them other batches,
 * and they may compute other values for the rows that stay.
 */
public class RowByRowPython {
  /** With it, Arrow hands over whole columns as pandas has them, where a NULL in one row changes the type of the others. */
  private static final String BY_PANDAS = "spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled";

  public static boolean all(scala.collection.Seq functions) {
    scala.collection.Iterator each = functions.iterator();
    while (each.hasNext()) if (!isOne((Expression) each.next())) return false;
    return true;
  }

  /** A function and those whose results it takes, which run in the same pass. */
  private static boolean isOne(Expression function) {
    if (function instanceof PythonUDF) {
      int kind = ((PythonUDF) function).evalType();
      boolean rows = kind == PythonEvalType.SQL_BATCHED_UDF() || kind == PythonEvalType.SQL_ARROW_BATCHED_UDF() && hasNoPandas();
      if (!rows) return false;
    }
    return all(function.children());
  }

  /** Older versions of Spark have no such setting, and always go through pandas. */
  private static boolean hasNoPandas() {
    return SQLConf$.MODULE$.containsConfigKey(BY_PANDAS)
        && !"true".equalsIgnoreCase(SQLConf$.MODULE$.get().getConfString(BY_PANDAS, "false").trim());
  }
}
