package headgate.format;

import headgate.scan.KnownFiles;
import headgate.scan.Listings;
import headgate.scan.PinnedFiles;
import headgate.scan.PrunedOrc;
import headgate.scan.ScanNames;
import headgate.scan.SnapshotTest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.orc.OrcConf;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.DataSourceUtils$;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Folders of ORC, with or without a catalog: files are chosen, and the reader is told ranges, by which it skips stripes.
 * Tables that Hive made are left to `OtherFiles`.
 */
public class OrcTables implements TableFormat {
  public boolean recognises(LogicalPlan leaf) {
    HadoopFsRelation files = KnownFiles.of(leaf);
    return files != null && !leaf.isStreaming() && KnownFiles.isOrc(files) && !KnownFiles.isNarrowed(files.location())
        && !isOfHive((LogicalRelation) leaf);
  }

  private static boolean isOfHive(LogicalRelation leaf) {
    if (leaf.catalogTable().isEmpty()) return false;
    scala.Option provider = ((org.apache.spark.sql.catalyst.catalog.CatalogTable) leaf.catalogTable().get()).provider();
    return provider.isDefined() && "hive".equalsIgnoreCase((String) provider.get());
  }

  public void describe(LogicalPlan leaf, ScanNames names, Map out) {
    HadoopFsRelation files = KnownFiles.of(leaf);
    List can = new ArrayList();
    can.add("reread");
    can.add("prune");
    if (isByPosition(files)) {
      out.put("byPosition", Boolean.TRUE);  // what a footer says of a name is of another column
    } else {
      can.add("statistics");
      can.add("ranges");
    }
    out.put("source", "files");
    out.put("can", can);
    out.put("format", "ORC");
    out.put("compares", Databases.compared(leaf.output()));
    FileTables.describe(leaf, files, names, out);
  }

  /** Whether Spark finds the columns of these files by their places; options count, too. */
  private static boolean isByPosition(HadoopFsRelation files) {
    return OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(files.sparkSession().sessionState().newHadoopConfWithOptions(files.options()));
  }

  public byte[] list(LogicalPlan leaf, Listings listings) throws Exception { return listings.of(KnownFiles.of(leaf)).toJson(); }

  /**
   * A test of rows is written so that Spark does not push it into the reader by itself, also in a build side: the reader
   * gets the conditions that are meant for it, since it fails on others where a file stores another type.
   */
  public LogicalPlan narrow(LogicalPlan leaf, ScanEdit edit) {
    HadoopFsRelation files = KnownFiles.of(leaf);
    List conditions = new ArrayList();
    Expression test = null;
    List tests = edit.tests(leaf);
    for (int i = 0; i < tests.size(); i++) {
      Expression one = (Expression) ((Object[]) tests.get(i))[1];
      if (((Boolean) ((Object[]) tests.get(i))[2]).booleanValue()) {
        scala.Option told = DataSourceStrategy$.MODULE$.translateFilter(one, DataSourceUtils$.MODULE$.supportNestedPredicatePushdown(files));
        if (told.isDefined()) conditions.add(told.get());
      } else {
        test = ScanEdit.and(test, SnapshotTest.orElse(edit.snapshot, (Attribute) ((Object[]) tests.get(i))[0], one));
      }
    }
    LogicalPlan result;
    if (edit.keep == null && conditions.isEmpty()) {
      result = new PinnedFiles(edit.listings, edit.snapshot).leaf(leaf);
    } else {
      FileFormat format = conditions.isEmpty() ? files.fileFormat() : new PrunedOrc(conditions, edit.snapshot);
      result = FileTables.over((LogicalRelation) leaf, edit, 0L, format);
    }
    return test == null ? result : new Filter(test, result);
  }
}
