package headgate.scan;

import headgate.interop.SparkVersion;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Of which columns a Delta or Iceberg table keeps bounds for each file, as its properties say: only to explain a report. */
class KeptBounds {
  private static final String DELTA = "delta.dataSkipping";
  private static final String ICEBERG = "write.metadata.metrics.";

  /** Those of the columns that the table keeps no bounds of; empty where that is not known. */
  static List without(SparkPlan scan, LogicalPlan leaf, List columns) {
    if (scan instanceof FileSourceScanExec) return delta((FileSourceScanExec) scan, columns);
    if (leaf instanceof DataSourceV2ScanRelation) return iceberg((DataSourceV2ScanRelation) leaf, columns);
    return new ArrayList();
  }

  /** What to set in a table so that it keeps bounds of columns. */
  static String setting(SparkPlan scan, List columns) {
    return scan instanceof FileSourceScanExec ? DELTA + "StatsColumns" : ICEBERG + "column." + columns.get(0) + "=full";
  }

  /** The version of a Delta table that a scan is bound to; null where it is no such scan. */
  static Object deltaVersion(FileSourceScanExec scan) {
    Object prepared = SparkVersion.readIfThere(scan.relation().location(), "preparedScan");
    return prepared == null ? null : SparkVersion.readIfThere(prepared, "scannedSnapshot");
  }

  private static List delta(FileSourceScanExec scan, List columns) {
    List found = new ArrayList();
    Object version = deltaVersion(scan);
    Object about = version == null ? null : SparkVersion.readIfThere(version, "metadata");
    scala.collection.Map properties = about == null ? null : (scala.collection.Map) SparkVersion.readIfThere(about, "configuration");
    if (properties == null) return found;
    String named = text(properties, DELTA + "StatsColumns"), first = text(properties, DELTA + "NumIndexedCols");
    int limit = first == null ? 32 : Integer.parseInt(first);
    for (int i = 0; i < columns.size(); i++) {
      String column = (String) columns.get(i);
      if (scan.relation().partitionSchema().getFieldIndex(column).isDefined()) continue;
      boolean kept = named == null ? limit < 0 || isAmong(scan.relation().dataSchema(), column, limit) : isNamed(named, column);
      if (!kept) found.add(column);
    }
    return found;
  }

  private static String text(scala.collection.Map properties, String name) {
    scala.Option found = properties.get(name);
    return found.isEmpty() ? null : (String) found.get();
  }

  private static boolean isNamed(String names, String column) {
    String[] each = names.split(",");
    for (int i = 0; i < each.length; i++) {
      if (each[i].trim().replace("`", "").equalsIgnoreCase(column)) return true;
    }
    return false;
  }

  /** Whether a column is among the first ones, where each field of a struct counts. */
  private static boolean isAmong(StructType schema, String column, int limit) {
    int before = 0;
    for (int i = 0; i < schema.fields().length && before < limit; i++) {
      StructField field = schema.fields()[i];
      if (field.name().equalsIgnoreCase(column)) return true;
      before += leaves(field);
    }
    return false;
  }

  private static int leaves(StructField field) {
    if (!(field.dataType() instanceof StructType)) return 1;
    int found = 0;
    StructField[] inner = ((StructType) field.dataType()).fields();
    for (int i = 0; i < inner.length; i++) found += leaves(inner[i]);
    return found;
  }

  private static List iceberg(DataSourceV2ScanRelation leaf, List columns) {
    List found = new ArrayList();
    Object table = SparkVersion.readIfThere(leaf.relation().table(), "table");
    Object properties = table == null ? null : SparkVersion.readIfThere(table, "properties");
    if (!(properties instanceof Map)) return found;
    Object usual = ((Map) properties).get(ICEBERG + "default");
    for (int i = 0; i < columns.size(); i++) {
      Object own = ((Map) properties).get(ICEBERG + "column." + columns.get(i));
      Object mode = own == null ? usual : own;
      if ("none".equals(mode) || "counts".equals(mode)) found.add(columns.get(i));
    }
    return found;
  }
}
