package headgate.format;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** The kinds of tables that are known, the most particular first. */
public class TableFormats {
  private static final TableFormat[] KNOWN = {
    new DeltaTables(), new MergeTargets(), new OrcTables(), new OtherFiles(), new FileTables(), new Databases(), new SourceScans(),
    new OtherLeaves()
  };

  /** The kind of table that a leaf scans; `OtherLeaves` takes what no other knows. */
  public static TableFormat of(LogicalPlan leaf) {
    for (int i = 0; i < KNOWN.length; i++) if (KNOWN[i].recognises(leaf)) return KNOWN[i];
    throw new IllegalArgumentException("no kind of table: " + leaf.nodeName());
  }
}
