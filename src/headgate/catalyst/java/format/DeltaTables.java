package headgate.format;

import headgate.interop.SparkVersion;
import headgate.scan.KnownFiles;
import headgate.scan.ScanNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Delta tables, read the usual way: a condition above the relation is enough, since Delta's own index skips files by it.
 *
 * Only the index of a prepared scan is known: it is bound to one version of the table, so what is read again is the same.
 */
public class DeltaTables extends ToldTable {
  private static final String FORMAT = "org.apache.spark.sql.delta.DeltaParquetFileFormat";
  private static final String PREPARED = "org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex";

  public boolean recognises(LogicalPlan leaf) {
    HadoopFsRelation files = KnownFiles.of(leaf);
    if (files == null || leaf.isStreaming()) return false;
    return files.location().getClass().getName().equals(PREPARED) && isFormat(files.fileFormat().getClass());
  }

  /** Delta has a format of its own for each version of its log, all made from one. */
  private static boolean isFormat(Class type) {
    for (Class at = type; at != null; at = at.getSuperclass()) {
      if (at.getName().equals(FORMAT) || at.getName().equals(FORMAT + "Base")) return type.getName().startsWith("org.apache.spark.sql.delta.");
    }
    return false;
  }

  public void describe(LogicalPlan leaf, ScanNames names, Map out) {
    HadoopFsRelation files = KnownFiles.of(leaf);
    List can = new ArrayList();
    can.add("reread");
    can.add("ranges");
    out.put("source", "delta");
    out.put("can", can);
    out.put("format", "Delta");
    out.put("bytes", String.valueOf(files.location().sizeInBytes()));
    long count = files(files.location());
    if (count > 0L) out.put("files", Long.valueOf(count));
    out.put("table", names.ofDelta((LogicalRelation) leaf));
    out.put("path", ScanNames.folder(files.location()));
  }

  /** How many files Delta means to read, as it has counted them itself; 0 where it has not. */
  private static long files(FileIndex prepared) {
    Object scan = SparkVersion.readIfThere(prepared, "preparedScan");
    Object scanned = scan == null ? null : SparkVersion.readIfThere(scan, "scanned");
    Object count = scanned == null ? null : SparkVersion.readIfThere(scanned, "files");
    return count instanceof scala.Some ? ((Number) ((scala.Some) count).get()).longValue() : 0L;
  }
}
