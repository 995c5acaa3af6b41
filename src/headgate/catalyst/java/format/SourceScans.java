package headgate.format;

import headgate.interop.SparkVersion;
import headgate.scan.KnownFiles;
import headgate.scan.ScanNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.MetadataAttribute$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileScan;
import org.apache.spark.sql.execution.datasources.v2.V1ScanWrapper;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.ShortType;

/** Scans of sources of the second version (Iceberg, catalogs of databases, files): told by pushing their conditions down again. */
public class SourceScans extends ToldTable {
  private static final String ICEBERG = "org.apache.iceberg.spark.source.";

  public boolean recognises(LogicalPlan leaf) { return leaf instanceof DataSourceV2ScanRelation && !leaf.isStreaming(); }

  public void describe(LogicalPlan leaf, ScanNames names, Map out) {
    DataSourceV2ScanRelation scan = (DataSourceV2ScanRelation) leaf;
    String kind = kind(scan);
    List can = new ArrayList();
    if (isBoundToVersion(scan)) can.add("reread");
    // the parser of JSON cannot be told: see OtherFiles; a reader that finds columns by field id is told of others by their names
    boolean byFieldId = kind.equals("Parquet") && !(scan.scan() instanceof ParquetScan && !KnownFiles.isByFieldId((ParquetScan) scan.scan()));
    if (byFieldId) out.put("byFieldId", Boolean.TRUE);
    boolean known = !kind.equals("JSON") && !byFieldId && (!PushedAgain.isTarget(scan) || isBoundToVersion(scan));
    if (known && PushedAgain.mayBePushed(scan) && !Databases.isReadAsOtherTypes(SparkVersion.readIfThere(scan.relation().table(), "jdbcOptions"))) {
      can.add("ranges");
    }
    out.put("source", source(kind));
    out.put("can", can);
    out.put("format", kind);
    out.put("table", names.of(scan));
    if (kind.equals("Iceberg")) out.put("path", location(scan));
    if (PushedAgain.isTarget(scan) || kind.equals("Iceberg") && givesFileNames(scan)) out.put("target", Boolean.TRUE);
    if (kind.equals("JDBC") || kind.equals("ORC")) out.put("compares", Databases.compared(leaf.output()));
    if (kind.equals("Parquet") || kind.equals("Iceberg")) out.put("compares", comparedAsStored(scan));
  }

  /** Whether a scan says which file each row is in: so Spark asks which files of its target a MERGE has to write anew. */
  private static boolean givesFileNames(DataSourceV2ScanRelation scan) {
    scala.collection.Iterator each = scan.output().iterator();
    while (each.hasNext()) {
      Attribute column = (Attribute) each.next();
      if (column.name().equals("_file") && MetadataAttribute$.MODULE$.isValid(column.metadata())) return true;
    }
    return false;
  }

  /**
   * The columns whose statistics speak of the values that Spark reads. Parquet files may store wider numbers than bytes and
   * shorts, of which Spark takes the last bits.
   */
  private static List comparedAsStored(DataSourceV2ScanRelation scan) {
    List found = new ArrayList();
    IcebergColumns iceberg = kind(scan).equals("Iceberg") ? new IcebergColumns(scan) : null;
    scala.collection.Iterator each = scan.output().iterator();
    while (each.hasNext()) {
      Attribute column = (Attribute) each.next();
      boolean mayWrap = column.dataType() instanceof ByteType || column.dataType() instanceof ShortType;
      if (iceberg == null ? !mayWrap : iceberg.mayBeTold(column.name())) found.add(Long.valueOf(column.exprId().id()));
    }
    return found;
  }

  /** Where an Iceberg table lies, as it says itself. */
  private static String location(DataSourceV2ScanRelation scan) {
    Object table = IcebergColumns.table(scan);
    Object found = table == null ? null : SparkVersion.readIfThere(table, "location");
    return found == null ? "" : found.toString();
  }

  private static String source(String kind) {
    if (kind.equals("Iceberg") || kind.equals("JDBC")) return kind.toLowerCase();
    return kind.equals("other") ? kind : "files";
  }

  private static String kind(DataSourceV2ScanRelation scan) {
    String name = scan.scan().getClass().getName();
    if (name.startsWith(ICEBERG)) return "Iceberg";
    if (scan.scan() instanceof V1ScanWrapper) return "JDBC";
    if (name.endsWith(".OrcScan")) return "ORC";
    if (name.endsWith(".JsonScan")) return "JSON";
    return name.endsWith(".ParquetScan") ? "Parquet" : "other";
  }

  /** Whether a scan reads one version of its table, however often it is read. */
  private static boolean isBoundToVersion(DataSourceV2ScanRelation scan) {
    return scan.scan().getClass().getName().equals(ICEBERG + "SparkBatchQueryScan");
  }

  public LogicalPlan told(LogicalPlan leaf, Expression before, Expression test) {
    DataSourceV2ScanRelation scan = (DataSourceV2ScanRelation) leaf;
    if (kind(scan).equals("ORC") && !OrcTypes.areThose(((FileScan) scan.scan()).fileIndex(), test)) return null;
    return PushedAgain.with(scan, before, test);
  }
}
