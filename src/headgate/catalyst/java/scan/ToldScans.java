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

  /** A query that was not planned must not be planned here: its error would bear the traces of it. */
  public void onFailure(String function, QueryExecution execution, Exception failure) {
    if (((scala.collection.Map) execution.tracker().phases()).contains("planning")) note(execution);
  }

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
      List without = KeptBounds.without(scan, planned, (List) told[2]);
      found.put("without", without);
      if (!without.isEmpty()) found.put("setting", KeptBounds.setting(scan, without));
      reads.note(((Integer) told[0]).intValue(), found);
    }
  }

  /** A MERGE counts the files of its target itself. */
  private static void command(LogicalPlan command) {
    scala.Option mark = command.getTagValue(TOLD);
    scala.collection.Map metrics = mark.isEmpty() ? null : (scala.collection.Map) SparkVersion.readIfThere(command, "metrics");
    if (metrics == null) return;
    Map found = new LinkedHashMap();
    String[][] counted = {{"files", "FilesAfter"}, {"filesTotal", "FilesBefore"}, {"bytes", "BytesAfter"}, {"bytesTotal", "BytesBefore"}};
    for (int i = 0; i < counted.length; i++) {
      ReadCounts.put(found, counted[i][0], PlanLeaves.metric(metrics, "numTarget" + counted[i][1] + "Skipping"));
    }
    Object[] told = (Object[]) mark.get();
    ((ToldReads) told[1]).note(((Integer) told[0]).intValue(), found);
  }

  private static Map counted(SparkPlan scan) {
    Map found = ReadCounts.of(scan);
    if (!found.containsKey("files")) return found;
    Object version = scan instanceof FileSourceScanExec ? KeptBounds.deltaVersion((FileSourceScanExec) scan) : null;
    if (version == null) return found;
    // what the table's log says of the version that is read
    number(found, "filesTotal", SparkVersion.readIfThere(version, "numOfFiles"));
    number(found, "bytesTotal", SparkVersion.readIfThere(version, "sizeInBytes"));
    return found;
  }

  private static void number(Map found, String name, Object value) {
    if (value instanceof Number) ReadCounts.put(found, name, ((Number) value).longValue());
  }
}
