package headgate.format;

import headgate.scan.KnownFiles;
import headgate.scan.ScanNames;
import headgate.scan.SnapshotTest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Folders of CSV, JSON and Avro, where rows that are dropped early need not be moved, and ORC tables of Hive, whose reader
 * skips stripes by conditions. By exact class, as for Parquet.
 */
public class OtherFiles extends ToldTable {
  private static final String SPARK = "org.apache.spark.sql.";

  public boolean recognises(LogicalPlan leaf) {
    HadoopFsRelation files = KnownFiles.of(leaf);
    return files != null && !leaf.isStreaming() && KnownFiles.isKnown(files.location()) && !KnownFiles.isNarrowed(files.location())
        && kind(files) != null;
  }

  private static String kind(HadoopFsRelation files) {
    String name = files.fileFormat().getClass().getName();
    if (name.equals(SPARK + "execution.datasources.orc.OrcFileFormat")) return "ORC";
    if (name.equals(SPARK + "execution.datasources.csv.CSVFileFormat")) return "CSV";
    if (name.equals(SPARK + "execution.datasources.json.JsonFileFormat")) return "JSON";
    return name.equals(SPARK + "avro.AvroFileFormat") ? "Avro" : null;
  }

  public void describe(LogicalPlan leaf, ScanNames names, Map out) {
    HadoopFsRelation files = KnownFiles.of(leaf);
    String kind = kind(files);
    List can = new ArrayList();
    can.add("reread");
    if (kind.equals("ORC")) can.add("ranges");
    if (!failsFast(files)) can.add("rows");
    out.put("source", "files");
    out.put("can", can);
    out.put("format", kind);
    out.put("bytes", String.valueOf(files.location().sizeInBytes()));
    out.put("table", names.of((LogicalRelation) leaf));
    out.put("path", ScanNames.folder(files.location()));
    if (kind.equals("ORC")) out.put("compares", Databases.compared(leaf.output()));
  }

  public LogicalPlan told(LogicalPlan leaf, Expression before, Expression test) {
    HadoopFsRelation files = KnownFiles.of(leaf);
    if (kind(files).equals("ORC") && !OrcTypes.areThose(files.location(), test)) return null;
    // Spark's JSON parser tests a row at the first of several fields of one name, and gives the row with the last
    if (kind(files).equals("JSON")) test = SnapshotTest.orElse(null, (Attribute) test.references().head(), test);
    return super.told(leaf, before, test);
  }

  /** Whether a row that cannot be parsed fails the query: one that is dropped before it is parsed would not. */
  private static boolean failsFast(HadoopFsRelation files) {
    scala.collection.Iterator each = files.options().iterator();
    while (each.hasNext()) {
      scala.Tuple2 option = (scala.Tuple2) each.next();
      if (((String) option._1()).equalsIgnoreCase("mode") && ((String) option._2()).equalsIgnoreCase("FAILFAST")) return true;
    }
    return false;
  }
}
