package headgate.scan;

import headgate.interop.SparkVersion;
import headgate.interop.Trees;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.util.QueryExecutionListener;

/** Takes what told scans have read from the metrics of the plans that ran; scans bear a mark. */
public class ToldScans implements QueryExecutionListener {
  private static final TreeNodeTag TOLD = new TreeNodeTag("headgate.told");

  /** Marks the leaf of a scan that was told something of columns; Spark copies plans with their marks. */
  public static void expect(LogicalPlan leaf, int scan, ToldReads reads, List columns) {
    reads.expect();
    leaf.setTagValue(TOLD, new Object[] {Integer.valueOf(scan), reads, columns});
  }

  public void onSuccess(String function, QueryExecution execution, long nanoseconds) { note(execution); }
  public void onFailure(String function, QueryExecution execution, Exception failure) { note(execution); }

  private void note(QueryExecution execution) {
    try {
      PlanLeaves found = PlanLeaves.of(execution);
      for (int i = 0; i < found.scans.size(); i++) leaf((SparkPlan) found.scans.get(i));
      for (int i = 0; i < found.commands.size(); i++) command((LogicalPlan) found.commands.get(i));
    } catch (Throwable unplanned) {
      return;
    }
  }

  private static void leaf(SparkPlan scan) {
    if (scan.logicalLink().isEmpty()) return;
    LogicalPlan planned = Trees.leaf((LogicalPlan) scan.logicalLink().get());
    scala.Option mark = planned.getTagValue(TOLD);
    if (mark.isEmpty()) return;
    Object[] told = (Object[]) mark.get();
    Map found = counted(scan);
    ToldReads reads = (ToldReads) told[1];
    reads.note(((Integer) told[0]).intValue(), new LinkedHashMap(found));  // what follows may take a while: it reads the table's log
    if (found.containsKey("filesTotal") && found.get("filesTotal").equals(found.get("files"))) {
      found.put("without", KeptBounds.without(scan, planned, (List) told[2]));
      reads.note(((Integer) told[0]).intValue(), found);
    }
  }

  /** A MERGE counts the files of its target itself. */
  private static void command(LogicalPlan command) {
    scala.Option mark = command.getTagValue(TOLD);
    scala.collection.Map metrics = mark.isEmpty() ? null : (scala.collection.Map) SparkVersion.readIfThere(command, "metrics");
    if (metrics == null) return;
    Map found = new LinkedHashMap();
    put(found, "files", PlanLeaves.metric(metrics, "numTargetFilesAfterSkipping"));
    put(found, "filesTotal", PlanLeaves.metric(metrics, "numTargetFilesBeforeSkipping"));
    Object[] told = (Object[]) mark.get();
    ((ToldReads) told[1]).note(((Integer) told[0]).intValue(), found);
  }

  private static Map counted(SparkPlan scan) {
    Map found = new LinkedHashMap();
    put(found, "rows", PlanLeaves.metric(scan, "numOutputRows"));
    put(found, "bytes", PlanLeaves.metric(scan, scan instanceof FileSourceScanExec ? "filesSize" : "totalFileSize"));
    long files = PlanLeaves.metric(scan, scan instanceof FileSourceScanExec ? "numFiles" : "resultDataFiles");
    long skipped = PlanLeaves.metric(scan, "skippedDataFiles");
    put(found, "files", files);
    long total = scan instanceof FileSourceScanExec ? filesOf((FileSourceScanExec) scan) : skipped < 0L ? -1L : files + skipped;
    if (files >= 0L) put(found, "filesTotal", total);
    return found;
  }

  /** The files of the table's version, as its log says; -1 where there is no log. */
  private static long filesOf(FileSourceScanExec scan) {
    Object version = KeptBounds.deltaVersion(scan);
    Object count = version == null ? null : SparkVersion.readIfThere(version, "numOfFiles");
    return count == null ? -1L : ((Number) count).longValue();
  }

  private static void put(Map found, String name, long value) { if (value >= 0L) found.put(name, Long.valueOf(value)); }
}
