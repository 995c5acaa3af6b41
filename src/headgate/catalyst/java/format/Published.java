package headgate.format;

import headgate.interop.Seqs;
import headgate.interop.Subqueries;
import headgate.scan.KnownFiles;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Marks the file relations of a DataFrame with the columns that a person publishes values for.
 *
 * The mark is an option of the relation that no reader looks at: one line for each publication, its name and the column. A
 * condition in the plan would not do: Spark copies conditions to the other side of a join, and rows that find no partner
 * there would be invented.
 */
public class Published {
  private static final String OPTION = "headgate.published";
  private final IdentityHashMap read = new IdentityHashMap();
  private final List scans;
  private final List columns;
  private final String id;
  private int at = 0;

  private Published(List scans, List columns, String id) {
    this.scans = scans;
    this.columns = columns;
    this.id = id;
  }

  /**
   * The plan with marks on some of its scans, given by number in pre-order, each with the name of its column. What Spark
   * would take from cached data stays as it is: it has to stay equal to what is cached.
   */
  public static LogicalPlan marked(LogicalPlan analyzed, LogicalPlan withCachedData, List scans, List columns, String id) {
    Published marks = new Published(scans, columns, id);
    marks.collect(withCachedData);
    return marks.inTree(analyzed);
  }

  private void collect(LogicalPlan plan) {
    HadoopFsRelation files = KnownFiles.of(plan);
    if (files != null) read.put(files.location(), Boolean.TRUE);
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) collect((LogicalPlan) each.next());
  }

  private LogicalPlan inTree(LogicalPlan plan) {
    int number = scans.indexOf(Integer.valueOf(at++));
    if (plan.children().isEmpty()) return number < 0 ? plan : leaf(plan, (String) columns.get(number));
    List children = new ArrayList();
    boolean changed = false;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) {
      LogicalPlan child = (LogicalPlan) each.next();
      LogicalPlan fresh = inTree(child);
      changed = changed || fresh != child;
      children.add(fresh);
    }
    return changed ? (LogicalPlan) plan.withNewChildren(Seqs.of(children)) : plan;
  }

  private LogicalPlan leaf(LogicalPlan plan, String column) {
    HadoopFsRelation files = KnownFiles.of(plan);
    if (files == null || !read.containsKey(files.location())) return plan;
    scala.Option before = files.options().get(OPTION);
    String marks = (before.isDefined() ? before.get() + "\n" : "") + id + " " + column;
    scala.collection.immutable.Map options = (scala.collection.immutable.Map) files.options().updated(OPTION, marks);
    HadoopFsRelation same = new HadoopFsRelation(files.location(), files.partitionSchema(), files.dataSchema(), files.bucketSpec(),
        files.fileFormat(), options, files.sparkSession());
    LogicalRelation old = (LogicalRelation) plan;
    LogicalRelation result = new LogicalRelation(same, old.output(), old.catalogTable(), old.isStreaming(), old.stream());
    result.copyTagsFrom(old);
    return result;
  }

  /** The marks of a relation: pairs of a publication and a column. */
  static List of(HadoopFsRelation files) {
    List found = new ArrayList();
    scala.Option option = files.options().get(OPTION);
    String[] lines = option.isDefined() ? ((String) option.get()).split("\n") : new String[0];
    for (int i = 0; i < lines.length; i++) {
      List pair = new ArrayList();
      pair.add(lines[i].substring(0, lines[i].indexOf(' ')));
      pair.add(lines[i].substring(lines[i].indexOf(' ') + 1));
      found.add(pair);
    }
    return found;
  }

  /** Whether there is a mark in a plan, or in a subquery of it. */
  public static boolean isIn(LogicalPlan plan) {
    HadoopFsRelation files = KnownFiles.of(plan);
    if (files != null && files.options().contains(OPTION)) return true;
    scala.collection.Iterator each = plan.children().iterator();
    while (each.hasNext()) if (isIn((LogicalPlan) each.next())) return true;
    List inside = Subqueries.of(plan);
    for (int i = 0; i < inside.size(); i++) if (isIn((LogicalPlan) inside.get(i))) return true;
    return false;
  }
}
