package headgate.changes;

import headgate.interop.Rethrow;
import headgate.interop.Subqueries;
import java.io.FileNotFoundException;
import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The one row of a batch query, or none, asked for anew in each trigger; files that came meanwhile are seen. */
public class WatchedRow implements MovingValue {
  private static final String ABSENT = "";
  private final SparkSession session;
  private final LogicalPlan plan;  // of one column, the packed row

  public WatchedRow(SparkSession session, LogicalPlan analyzed) {
    this.session = session;
    this.plan = analyzed;
  }

  public StructType schema() { return new StructType().add("_packed", DataTypes.BinaryType, true); }

  public String now() {
    List rows = null;
    try {
      rows = read();
    } catch (Exception failure) {
      if (!isOfFilesGone(failure)) Rethrow.raise(failure);
      rows = read();  // they went while they were read: what is there now counts, and what is not there is named
    }
    if (rows.size() > 1) throw new IllegalStateException("The right side, a batch DataFrame that is read in each trigger, has more than one row; it may have one or none: aggregate it, or keep its first row.");
    return rows.isEmpty() ? ABSENT : Base64.getEncoder().encodeToString((byte[]) ((Row) rows.get(0)).get(0));
  }

  private List read() {
    look(plan, true);
    List rows = Dataset.ofRows(session, plan).limit(2).collectAsList();
    look(plan, false);  // a table that is dropped while it is read loses its files first, and would be read as empty
    return rows;
  }

  private static boolean isOfFilesGone(Throwable failure) {
    if (failure == null) return false;
    return failure instanceof FileNotFoundException || String.valueOf(failure.getMessage()).contains("FILE_NOT_EXIST") || isOfFilesGone(failure.getCause());
  }

  public String next(String last, String now, boolean justStarted, boolean withoutLimit) {
    return now.equals(last) || last == null && now.equals(ABSENT) ? null : now;
  }

  public void startsAt(String checkpoint) {}
  public boolean isFixedAtStart() { return true; }

  public InternalRow row(String value) {
    return new GenericInternalRow(new Object[] {value.equals(ABSENT) ? null : Base64.getDecoder().decode(value)});
  }

  public String toString() { return "a batch DataFrame read in each trigger"; }

  /** Whether all that is read is there; and lists it anew, which Spark does when the DataFrame is made, and never again. */
  private void look(LogicalPlan plan, boolean listAnew) {
    if (plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation)
      look(((HadoopFsRelation) ((LogicalRelation) plan).relation()).location(), named((LogicalRelation) plan), listAnew);
    if (plan instanceof DataSourceV2Relation && ((DataSourceV2Relation) plan).table() instanceof FileTable)
      look(((FileTable) ((DataSourceV2Relation) plan).table()).fileIndex(), "", listAnew);
    for (Iterator inside = Subqueries.of(plan).iterator(); inside.hasNext();) look((LogicalPlan) inside.next(), listAnew);
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) look((LogicalPlan) children.next(), listAnew);
  }

  /** The table of a scan, as a sentence names it; one that was dropped may have left its files behind. */
  private String named(LogicalRelation relation) {
    if (relation.catalogTable().isEmpty()) return "";
    TableIdentifier table = ((CatalogTable) relation.catalogTable().get()).identifier();
    if (!session.sessionState().catalog().tableExists(table)) throw gone("the table " + table.unquotedString());
    return "the table " + table.unquotedString() + " at ";
  }

  private static RuntimeException gone(String what) {
    return new IllegalStateException("The right side reads " + what + ", which is not there. Nothing is lost: start the query again when it is back. A table whose files are replaced has to be read through a catalog or a folder that stays; a materialised table is read by the query that `read_materialized` makes now, and not by one made before.");
  }

  /** What is gone would be read as empty, and a value that is absent takes all rows back. */
  private void look(FileIndex files, String table, boolean listAnew) {
    if (listAnew) files.refresh();
    scala.collection.Iterator roots = files.rootPaths().iterator();
    while (roots.hasNext()) {
      Path root = (Path) roots.next();
      boolean there = false;
      try {
        there = root.getFileSystem(session.sessionState().newHadoopConf()).exists(root);
      } catch (java.io.IOException failure) {
        Rethrow.raise(failure);
      }
      if (!there) throw gone(table + root);
    }
  }
}
