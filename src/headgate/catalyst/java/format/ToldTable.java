package headgate.format;

import headgate.scan.Listings;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * A table that keeps its own statistics, or none: Headgate does not choose what is read of it, but tells it which values
 * still matter, as conditions that it skips files, or asks a database, by. Its files stay its own.
 */
public abstract class ToldTable implements TableFormat {
  /** The scan with the conditions that stood right above it (or null) and a test more; null where that cannot be done. */
  public LogicalPlan told(LogicalPlan leaf, Expression before, Expression test) {
    return new Filter(ScanEdit.and(before, test), leaf);
  }

  public byte[] list(LogicalPlan leaf, Listings listings) {
    throw new IllegalArgumentException(leaf.nodeName() + " has no files that Headgate lists");
  }

  public LogicalPlan narrow(LogicalPlan leaf, ScanEdit edit) {
    throw new IllegalArgumentException(leaf.nodeName() + " is told, with what stands above it: see ToldScan");
  }
}
