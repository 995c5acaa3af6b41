package headgate.scan;

import headgate.interop.SparkVersion;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Map;
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
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/** What a scan is called: its table, else the view that is nothing but this scan, else its folder. */
public class ScanNames {
  /** What Iceberg calls the catalog of tables that are read by their path. */
  private static final String BY_PATH = "default_iceberg.";
  private final SparkSession session;
  private IdentityHashMap views;
  /** Views of Delta and Iceberg tables by where these lie: another relation takes the place of the view's. */
  private final Map byPlace = new HashMap();

  public ScanNames(SparkSession session) { this.session = session; }

  public String of(LogicalRelation plan) {
    if (plan.catalogTable().isDefined()) return ((CatalogTable) plan.catalogTable().get()).identifier().unquotedString();
    if (views == null) views = views();
    String view = (String) views.get(plan.relation());
    return view == null ? folder(((HadoopFsRelation) plan.relation()).location()) : view;
  }

  /** A Delta table that is read by its path. */
  public String ofDelta(LogicalRelation plan) {
    String found = of(plan);
    String view = plan.catalogTable().isDefined() ? null : (String) byPlace.get(found);
    return view == null ? found : view;
  }

  /** A table of the second version: what its catalog calls it, else the view that is nothing but this table. */
  public String of(DataSourceV2ScanRelation plan) {
    String name = plan.relation().name();
    if (!name.startsWith(BY_PATH)) return name;
    if (views == null) views = views();
    String view = (String) byPlace.get(name);
    return view == null ? name : view;
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
        Object read = plan instanceof LogicalRelation ? ((LogicalRelation) plan).relation() : null;
        if (read != null && !found.containsKey(read)) found.put(read, name);
        if (read instanceof HadoopFsRelation && isDelta((HadoopFsRelation) read)) placed(folder(((HadoopFsRelation) read).location()), name);
        String table = secondVersion(plan);
        if (table != null) placed(table, name);
      }
    } catch (Exception unnamed) {
      return found;  // a scan without the name of its view is still a scan
    }
    return found;
  }

  /** The only files that are looked for by their folder: to find that of a long list of paths takes a while. */
  private static boolean isDelta(HadoopFsRelation files) {
    return files.location().getClass().getName().startsWith("org.apache.spark.sql.delta.");
  }

  /** The name of a table of the second version; a view of newer Sparks keeps only a reference to it. */
  private static String secondVersion(LogicalPlan plan) {
    boolean isOne = plan instanceof DataSourceV2Relation || plan.getClass().getSimpleName().equals("V2TableReference");
    Object name = isOne ? SparkVersion.readIfThere(plan, "name") : null;
    return name == null ? null : name.toString();
  }

  /** Two views of one place may be of two versions: then neither name is given. */
  private void placed(String place, String view) { byPlace.put(place, byPlace.containsKey(place) ? null : view); }

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
