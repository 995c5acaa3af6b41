package headgate.format;

import headgate.interop.Trees;
import headgate.scan.KnownFiles;
import headgate.scan.ScanNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Targets of MERGE statements: what they are told is added to the condition of the statement. */
public class MergeTargets extends ToldTable {
  public boolean recognises(LogicalPlan leaf) { return leaf instanceof MergeTarget; }

  public void describe(LogicalPlan leaf, ScanNames names, Map out) {
    List can = new ArrayList();
    can.add("ranges");
    out.put("source", "delta");
    out.put("can", can);
    out.put("format", "Delta");
    out.put("table", table(((MergeTarget) leaf).target, names));
    out.put("target", Boolean.TRUE);
  }

  private static String table(LogicalPlan target, ScanNames names) {
    LogicalPlan leaf = Trees.leaf(target);
    return KnownFiles.of(leaf) == null ? "the target of a MERGE" : names.of((LogicalRelation) leaf);
  }
}
