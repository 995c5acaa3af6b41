package headgate.scan;

import headgate.interop.Subqueries;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.CatalogFileIndex;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils;
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScan;

/**
 * Which file relations are known whole: by exact class, since a subclass carries a meaning of its own.
 *
 * A table format may hide deleted rows behind its index, or map columns in its format; both are subclasses of Spark's.
 */
public class KnownFiles {
  private static final String FIELD_IDS = "spark.sql.parquet.fieldId.read.enabled";
  private static final String BUCKET_ORDER = "spark.sql.legacy.bucketedTableScan.outputOrdering";
  private static final String SINK_LOG = "MetadataLogFileIndex";

  /** The files behind a plan node, or null where it is no file relation. */
  public static HadoopFsRelation of(LogicalPlan plan) {
    if (!(plan instanceof LogicalRelation) || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) return null;
    HadoopFsRelation files = (HadoopFsRelation) ((LogicalRelation) plan).relation();
    return isListedAtPlanning(files) ? null : files;
  }

  /** Whether Spark lists the files already when it plans: it is too early then to ask whether other tables have changed. */
  private static boolean isListedAtPlanning(HadoopFsRelation files) {
    return files.bucketSpec().isDefined() && Boolean.parseBoolean(files.sparkSession().sessionState().conf().getConfString(BUCKET_ORDER, "false"));
  }

  /** Whether two plans are equal and read through the very same indexes: to Spark, two listings of one folder are equal. */
  public static boolean readSame(LogicalPlan a, LogicalPlan b) {
    if (!a.canonicalized().equals(b.canonicalized())) return false;
    List mine = new ArrayList();
    List theirs = new ArrayList();
    indexes(a, mine);
    indexes(b, theirs);
    if (mine.size() != theirs.size()) return false;
    for (int i = 0; i < mine.size(); i++) if (mine.get(i) != theirs.get(i)) return false;
    return true;
  }

  private static void indexes(LogicalPlan plan, List found) {
    HadoopFsRelation files = of(plan);
    if (files != null) found.add(files.location());
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) indexes((LogicalPlan) each.next(), found);
    List inside = Subqueries.of(plan);
    for (int i = 0; i < inside.size(); i++) indexes((LogicalPlan) inside.get(i), found);
  }

  /** Whether an index lists a folder or a catalog table and means no more than it lists. */
  public static boolean isKnown(FileIndex index) {
    Class type = index.getClass();
    return type == InMemoryFileIndex.class || type == CatalogFileIndex.class || isNarrowed(index)
        || (type.getSimpleName().equals(SINK_LOG) && type.getName().startsWith("org.apache.spark.sql.execution."));
  }

  public static boolean isNarrowed(FileIndex index) { return index.getClass() == PrunedFileIndex.class; }

  /** Whether the rows of the files are those of Spark's own Parquet reader. */
  public static boolean isParquet(HadoopFsRelation files) {
    return files.fileFormat().getClass() == ParquetFileFormat.class && isKnown(files.location());
  }

  /** Whether they are those of Spark's own ORC reader. */
  public static boolean isOrc(HadoopFsRelation files) {
    return files.fileFormat().getClass() == OrcFileFormat.class && isKnown(files.location());
  }

  /** Whether Spark finds the columns of these files by field id, so that names in footers say nothing; options count, too. */
  public static boolean isByFieldId(HadoopFsRelation files) {
    return ParquetUtils.hasFieldIds(files.dataSchema())
        && files.sparkSession().sessionState().newHadoopConfWithOptions(files.options()).getBoolean(FIELD_IDS, false);
  }

  /** The same of a scan of the second version of the source API, whose options its reader heeds. */
  public static boolean isByFieldId(ParquetScan scan) {
    boolean bySession = Boolean.parseBoolean(SparkSession.active().sessionState().conf().getConfString(FIELD_IDS, "false"));
    return ParquetUtils.hasFieldIds(scan.dataSchema()) && (bySession || scan.hadoopConf().getBoolean(FIELD_IDS, false));
  }
}
