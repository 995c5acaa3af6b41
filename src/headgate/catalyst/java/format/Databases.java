package headgate.format;

import headgate.scan.ScanNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions;
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation;
import org.apache.spark.sql.types.*;

/** Tables of databases, read through JDBC: Spark sends conditions on plain columns along with its question. */
public class Databases extends ToldTable {
  public boolean recognises(LogicalPlan leaf) {
    return leaf instanceof LogicalRelation && ((LogicalRelation) leaf).relation().getClass() == JDBCRelation.class;
  }

  public void describe(LogicalPlan leaf, ScanNames names, Map out) {
    JDBCRelation relation = (JDBCRelation) ((LogicalRelation) leaf).relation();
    List can = new ArrayList();
    if (relation.jdbcOptions().pushDownPredicate() && !isReadAsOtherTypes(relation.jdbcOptions())) can.add("ranges");
    out.put("source", "jdbc");
    out.put("can", can);
    out.put("format", "JDBC");
    out.put("table", table(relation));
    out.put("compares", compared(leaf.output()));
  }

  /** Whether the query says what types to read: the database compares what it stores, and not what becomes of it. */
  static boolean isReadAsOtherTypes(Object options) {
    return options instanceof JDBCOptions && ((JDBCOptions) options).customSchema().isDefined();
  }

  private static String table(JDBCRelation relation) {
    String name = relation.jdbcOptions().tableOrQuery();
    return name.length() > 60 ? "JDBC" : name;
  }

  /**
   * The columns that a database compares just as Spark does. It may order text by rules of a language, pad it with blanks,
   * or keep times in another zone. The widest decimals stand for numbers of any scale, which Spark rounds.
   */
  static List compared(scala.collection.Seq columns) {
    List found = new ArrayList();
    scala.collection.Iterator each = columns.iterator();
    while (each.hasNext()) {
      Attribute column = (Attribute) each.next();
      DataType type = column.dataType();
      boolean same = type instanceof ByteType || type instanceof ShortType || type instanceof IntegerType || type instanceof LongType
          || (type instanceof DecimalType && ((DecimalType) type).precision() < DecimalType.MAX_PRECISION())
          || type instanceof DateType;
      if (same) found.add(Long.valueOf(column.exprId().id()));
    }
    return found;
  }
}
