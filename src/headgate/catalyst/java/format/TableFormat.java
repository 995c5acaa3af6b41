package headgate.format;

import headgate.scan.Listings;
import headgate.scan.ScanNames;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** One kind of table: how its scans are recognised, what can be done with them, how they are listed and narrowed. */
public interface TableFormat {
  /** Whether a leaf of a plan is a scan of this kind. */
  boolean recognises(LogicalPlan leaf);

  /**
   * Writes what Python needs to know of a scan: "source", "table", "bytes", and "can", a list of what can be done with it:
   *
   * "reread": it gives the same rows when it is read again, as long as its files stay the same.
   * "prune": files, and parts of files, can be left out. "statistics": footers say what lies in a part of a file.
   * "gate": files can be left out while the scan runs. "push": its reader takes conditions.
   * "ranges": the table skips what it can by conditions that it is told; "compares" lists the columns where not all will do.
   * "rows": rows can be dropped before they are moved.
   */
  void describe(LogicalPlan leaf, ScanNames names, Map out);

  /** The files of a scan that can "prune", as JSON. */
  byte[] list(LogicalPlan leaf, Listings listings) throws Exception;

  /** A scan that can "prune" with its edit made. */
  LogicalPlan narrow(LogicalPlan leaf, ScanEdit edit);
}
