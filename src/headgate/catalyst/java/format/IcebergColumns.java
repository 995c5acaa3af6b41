package headgate.format;

import headgate.interop.SparkVersion;
import java.lang.reflect.Method;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** Which columns of an Iceberg table it compares as Spark does, so that it may be told what they must hold. */
class IcebergColumns {
  /** The schema that a scan reads by; older versions know only the columns that are read. */
  private static final String[] READ_BY = {"schema", "expectedSchema"};

  private final Object now;
  private final Object read;

  IcebergColumns(DataSourceV2ScanRelation scan) {
    Object table = table(scan);
    this.now = table == null ? null : SparkVersion.readIfThere(table, "schema");
    this.read = schema(scan.scan());
  }

  /** What Iceberg itself calls the table of a scan, or null. */
  static Object table(DataSourceV2ScanRelation scan) {
    Object table = scan.relation().table();
    if (table instanceof RowLevelOperationTable) table = ((RowLevelOperationTable) table).table();
    return SparkVersion.readIfThere(table, "table");
  }

  /**
   * Whether a column may be told. Iceberg looks for files by the names that columns have now, also where an older version
   * of the table is read, in which the name may have meant another column: only a column that is the same in both may be.
   */
  boolean mayBeTold(String name) {
    Object before = field(read, name);
    Object after = field(now, name);
    if (before == null || after == null) return false;
    Object id = SparkVersion.readIfThere(before, "fieldId");
    return id != null && id.equals(SparkVersion.readIfThere(after, "fieldId")) && isComparedAsRead(before) && isComparedAsRead(after);
  }

  /**
   * Iceberg's reader drops row groups without a column that has a default. It compares UUIDs as signed numbers, and Spark as
   * text; the bounds of times in files that were added to a table may be milliseconds.
   */
  private static boolean isComparedAsRead(Object field) {
    String type = String.valueOf(SparkVersion.readIfThere(field, "type"));
    boolean isOrdered = !type.equals("uuid") && !type.startsWith("timestamp") && !type.equals("time");
    return isOrdered && SparkVersion.readIfThere(field, "initialDefault") == null;
  }

  private static Object field(Object schema, String name) {
    return schema == null ? null : SparkVersion.readIfThere(schema, "findField", name);
  }

  private static Object schema(Object scan) {
    for (int i = 0; i < READ_BY.length; i++) {
      for (Class at = scan.getClass(); at != null; at = at.getSuperclass()) {
        try {
          Method method = at.getDeclaredMethod(READ_BY[i], new Class[0]);
          method.setAccessible(true);
          return method.invoke(scan, new Object[0]);
        } catch (Exception absent) {
          continue;
        }
      }
    }
    return null;
  }
}
