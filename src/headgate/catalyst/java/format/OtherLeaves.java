package headgate.format;

import headgate.scan.Listings;
import headgate.scan.ScanNames;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** Leaves that are no files: data of the query itself, cached data, RDDs, other systems. None of them can be narrowed. */
public class OtherLeaves implements TableFormat {
  public boolean recognises(LogicalPlan leaf) { return true; }

  public void describe(LogicalPlan leaf, ScanNames names, Map out) {
    List can = new ArrayList();
    String source = source(leaf);
    if (Stability.isStableLeaf(leaf)) can.add("reread");
    out.put("source", source);
    out.put("table", table(leaf, source));
    out.put("can", can);
  }

  private static String source(LogicalPlan leaf) {
    if (leaf instanceof LocalRelation || leaf instanceof OneRowRelation) return "local";
    if (leaf instanceof Range) return "range";
    if (leaf instanceof InMemoryRelation) return Stability.isLoaded((InMemoryRelation) leaf) ? "cached" : "cache";
    if (leaf instanceof LogicalRDD) return Stability.isCheckpoint((LogicalRDD) leaf) ? "checkpoint" : "rdd";
    return relation(leaf).indexOf("JDBC") >= 0 ? "jdbc" : "other";
  }

  private static String table(LogicalPlan leaf, String source) {
    if (source.equals("local")) return "local data";
    if (source.equals("cached") || source.equals("cache")) return "cached data";
    if (source.equals("checkpoint") || source.equals("rdd")) return "RDD";
    return source.equals("range") ? source : relation(leaf);
  }

  /** What people would call it: the class of a relation, else that of the node. */
  private static String relation(LogicalPlan leaf) {
    return leaf instanceof LogicalRelation ? ((LogicalRelation) leaf).relation().getClass().getSimpleName() : leaf.nodeName();
  }

  public byte[] list(LogicalPlan leaf, Listings listings) {
    throw new IllegalArgumentException(leaf.nodeName() + " has no files to list");
  }

  public LogicalPlan narrow(LogicalPlan leaf, ScanEdit edit) {
    throw new IllegalArgumentException(leaf.nodeName() + " cannot be narrowed");
  }
}
