package headgate.scan;

import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Trees;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;

/** What scans that ran have read, as Spark's own metrics and those of the sources say. */
public class ReadCounts {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final int MOST_SCANS = 50;
  private static final int LONGEST = 4000;

  /** What the scans of an execution have read, as JSON. */
  public static String told(QueryExecution execution) throws Exception { return MAPPER.writeValueAsString(of(PlanLeaves.of(execution))); }

  /** One entry for each scan of a plan that ran: `SeenScan` in catalyst/wire.py. */
  public static List of(PlanLeaves leaves) {
    List found = new ArrayList();
    for (int i = 0; i < leaves.scans.size() && found.size() < MOST_SCANS; i++) {
      SparkPlan scan = (SparkPlan) leaves.scans.get(i);
      Map one = new LinkedHashMap();
      String name = scan.nodeName();
      one.put("name", name.length() > LONGEST ? name.substring(0, LONGEST) + " ..." : name);
      one.putAll(of(scan));
      put(one, "column", column(scan));
      found.add(one);
    }
    return found;
  }

  /** Files, bytes and rows; each only where it was counted. */
  static Map of(SparkPlan scan) {
    boolean isOfFiles = scan instanceof FileSourceScanExec;
    long files = PlanLeaves.metric(scan, isOfFiles ? "numFiles" : "resultDataFiles");
    long others = isOfFiles ? PlanLeaves.metric(scan, "staticFilesNum") : PlanLeaves.metric(scan, "skippedDataFiles");
    long rows = PlanLeaves.metric(scan, "numOutputRows");
    Map found = new LinkedHashMap();
    put(found, "rows", rows);
    if (files == 0L && rows > 0L) return found;  // when a plan runs again, files are not counted again
    put(found, "files", files);
    if (files >= 0L && others >= 0L) put(found, "filesTotal", isOfFiles ? Math.max(files, others) : files + others);
    put(found, "bytes", PlanLeaves.metric(scan, isOfFiles ? "filesSize" : "totalDataFileSize"));
    return found;
  }

  /** The id of the first column of the relation that is scanned, by which plans know it; -1 where it has none. */
  private static long column(SparkPlan scan) {
    LogicalPlan leaf = scan.logicalLink().isEmpty() ? null : Trees.leaf((LogicalPlan) scan.logicalLink().get());
    scala.collection.Seq output = leaf == null ? scan.output() : leaf.output();
    return output.isEmpty() ? -1L : ((Attribute) output.head()).exprId().id();
  }

  /** Adds what was counted before, where it was not counted again. */
  public static void complete(Map now, Map before) {
    if (before == null || now.containsKey("files")) return;
    Object[] keys = {"files", "filesTotal", "bytes", "bytesTotal", "without", "setting"};
    for (int i = 0; i < keys.length; i++) if (before.containsKey(keys[i])) now.put(keys[i], before.get(keys[i]));
  }

  static void put(Map found, String name, long value) { if (value >= 0L) found.put(name, Long.valueOf(value)); }
}
