package headgate.scan;

import java.util.IdentityHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.catalog.TemporaryViewRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** What a scan of files is called: its table, else the view that is nothing but this scan, else its folder. */
public class ScanNames {
  private final SparkSession session;
  private IdentityHashMap views;

  public ScanNames(SparkSession session) { this.session = session; }

  public String of(LogicalRelation plan) {
    if (plan.catalogTable().isDefined()) return ((CatalogTable) plan.catalogTable().get()).identifier().unquotedString();
    if (views == null) views = views();
    String view = (String) views.get(plan.relation());
    return view == null ? folder(((HadoopFsRelation) plan.relation()).location()) : view;
  }

  /** Views are gone from an optimized plan, but the relation in it is the very one that the view was made of. */
  private IdentityHashMap views() {
    IdentityHashMap found = new IdentityHashMap();
    try {
      SessionCatalog catalog = session.sessionState().catalog();
      scala.collection.Iterator each = catalog.listLocalTempViews("*").iterator();
      while (each.hasNext()) {
        String name = ((TableIdentifier) each.next()).table();
        scala.Option view = catalog.getRawTempView(name);
        if (view.isEmpty() || ((TemporaryViewRelation) view.get()).plan().isEmpty()) continue;
        LogicalPlan plan = (LogicalPlan) ((TemporaryViewRelation) view.get()).plan().get();
        while (plan instanceof SubqueryAlias) plan = (LogicalPlan) plan.children().head();
        if (plan instanceof LogicalRelation && !found.containsKey(((LogicalRelation) plan).relation())) {
          found.put(((LogicalRelation) plan).relation(), name);
        }
      }
    } catch (Exception unnamed) {
      return found;  // a scan without the name of its view is still a scan
    }
    return found;
  }

  /** The path that was read, or the folder that several paths (a glob is some) have in common. */
  public static String folder(FileIndex location) {
    scala.collection.Iterator paths = location.rootPaths().iterator();
    if (!paths.hasNext()) return "files";
    Path common = (Path) paths.next();
    while (paths.hasNext()) {
      Path other = (Path) paths.next();
      while (common.getParent() != null && !isIn(other, common)) common = common.getParent();
    }
    return common.toString();
  }

  private static boolean isIn(Path path, Path folder) {
    for (Path at = path; at != null; at = at.getParent()) if (at.equals(folder)) return true;
    return false;
  }
}
