package headgate.format;

import com.fasterxml.jackson.databind.JsonNode;
import headgate.interop.Columns;
import headgate.interop.Json;
import headgate.late.GateFilter;
import headgate.late.GatedParquet;
import headgate.scan.FileListing;
import headgate.scan.KnownFiles;
import headgate.scan.Listings;
import headgate.scan.PinnedFiles;
import headgate.scan.PrunedFileIndex;
import headgate.scan.PrunedParquet;
import headgate.scan.ScanNames;
import headgate.scan.SnapshotTest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.DataSourceUtils$;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.ShortType;

/** Folders of files, with or without a catalog: Parquet is narrowed; other formats, and what is not known whole, are read as they are. */
public class FileTables implements TableFormat {
  public boolean recognises(LogicalPlan leaf) { return KnownFiles.of(leaf) != null; }

  public void describe(LogicalPlan leaf, ScanNames names, Map out) {
    HadoopFsRelation files = KnownFiles.of(leaf);
    String source = source(files);
    out.put("source", source);
    out.put("can", can(files, source));
    if (KnownFiles.isByFieldId(files)) out.put("byFieldId", Boolean.TRUE);
    out.put("format", files.fileFormat().toString());
    describe(leaf, files, names, out);
  }

  /** What is said of files of any format. */
  static void describe(LogicalPlan leaf, HadoopFsRelation files, ScanNames names, Map out) {
    out.put("bytes", String.valueOf(files.location().sizeInBytes()));
    if (files.location().getClass() == InMemoryFileIndex.class) {
      out.put("files", Integer.valueOf(((InMemoryFileIndex) files.location()).allFiles().size()));  // others would list them for this
    }
    out.put("table", names.of((LogicalRelation) leaf));
    out.put("path", ScanNames.folder(files.location()));
    List partitions = new ArrayList();
    for (int i = 0; i < files.partitionSchema().fields().length; i++) partitions.add(files.partitionSchema().fields()[i].name());
    out.put("partitionColumns", partitions);
    List published = Published.of(files);
    if (!published.isEmpty()) out.put("published", published);
  }

  private static String source(HadoopFsRelation files) {
    if (!KnownFiles.isKnown(files.location())) return "unknown files";
    if (KnownFiles.isNarrowed(files.location())) return "narrowed";
    return KnownFiles.isParquet(files) ? "parquet" : "files";
  }

  private static List can(HadoopFsRelation files, String source) {
    List can = new ArrayList();
    if (!source.equals("unknown files")) can.add("reread");
    if (!source.equals("parquet")) return can;
    can.add("prune");
    if (KnownFiles.isByFieldId(files)) return can;  // what a footer says of a name is of another column
    can.add("statistics");
    can.add("gate");
    can.add("push");
    return can;
  }

  public byte[] list(LogicalPlan leaf, Listings listings) throws Exception { return listings.of(KnownFiles.of(leaf)).toJson(); }

  public LogicalPlan narrow(LogicalPlan leaf, ScanEdit edit) {
    List conditions = new ArrayList();
    Expression test = null;
    List tests = edit.tests(leaf);
    for (int i = 0; i < tests.size(); i++) {
      Attribute column = (Attribute) ((Object[]) tests.get(i))[0];
      Expression one = (Expression) ((Object[]) tests.get(i))[1];
      // in a build side Spark would push it down by itself
      if (edit.snapshot == null && !readerMayTest(KnownFiles.of(leaf), column)) continue;
      Expression whole = edit.snapshot == null ? one : whileCurrent(leaf, column, one, edit, conditions);
      boolean readerOnly = ((Boolean) ((Object[]) tests.get(i))[2]).booleanValue();
      if (!readerOnly) test = ScanEdit.and(test, whole);
    }
    List late = edit.lateTests(leaf);
    for (int i = 0; i < late.size(); i++) test = ScanEdit.and(test, (Expression) late.get(i));
    boolean files = edit.keep != null || edit.late != null || !conditions.isEmpty();
    LogicalPlan result = files ? onlyFiles((LogicalRelation) leaf, edit, conditions) : new PinnedFiles(edit.listings, edit.snapshot).leaf(leaf);
    return test == null ? result : new Filter(test, result);
  }

  /** The test, as long as the tables have not changed; then the reader gets it too, as Spark would hand it over. */
  private static Expression whileCurrent(LogicalPlan plan, Attribute column, Expression test, ScanEdit edit, List conditions) {
    HadoopFsRelation files = KnownFiles.of(plan);
    boolean inFolders = files.partitionSchema().getFieldIndex(column.name()).isDefined();
    if (!inFolders && readerMayTest(files, column)) {
      scala.Option pushed = DataSourceStrategy$.MODULE$.translateFilter(test, DataSourceUtils$.MODULE$.supportNestedPredicatePushdown(files));
      if (pushed.isDefined()) conditions.add(pushed.get());
    }
    return SnapshotTest.orElse(edit.snapshot, column, test);
  }

  /**
   * Whether the Parquet reader can be given a condition on a column. It finds the column by its name, also where Spark finds
   * it by field id; it takes `a.b` for field b of struct a; and it judges by the file's own numbers, which are cut off where
   * they are wider than the column's.
   */
  private static boolean readerMayTest(HadoopFsRelation files, Attribute column) {
    boolean cutOff = column.dataType() instanceof ByteType || column.dataType() instanceof ShortType;
    return !cutOff && column.name().indexOf('.') < 0 && !KnownFiles.isByFieldId(files);
  }

  private static LogicalRelation onlyFiles(LogicalRelation plan, ScanEdit edit, List conditions) {
    HadoopFsRelation files = KnownFiles.of(plan);
    HashMap ranges = new HashMap();
    long more = edit.keep == null ? 0L : edit.keptRanges(edit.listings.of(files), ranges);
    FileFormat format = files.fileFormat();
    if (edit.late != null) {
      format = new GatedParquet(ranges, conditions, edit.snapshot, edit.source, gateFilters(plan, files, edit), edit.counts, edit.scan);
    } else if (!ranges.isEmpty() || !conditions.isEmpty()) {
      format = new PrunedParquet(ranges, conditions, edit.snapshot);
    }
    return over(plan, edit, more, format);
  }

  /** The relation over the files that are kept, read in a format; `more` bytes are read than they have (or less, below zero). */
  static LogicalRelation over(LogicalRelation plan, ScanEdit edit, long more, FileFormat format) {
    HadoopFsRelation files = KnownFiles.of(plan);
    FileListing listing = edit.listings.of(files);
    org.apache.spark.sql.SparkSession session = files.sparkSession();
    HashSet kept = null;
    long bytes = files.location().sizeInBytes();
    if (edit.keep != null) {
      kept = new HashSet();
      long whole = edit.keptFiles(listing, kept);
      bytes = Math.max(whole + more, 0L);
      session = edit.even.of(session, whole);
    }
    PrunedFileIndex index = new PrunedFileIndex(listing, kept, bytes, edit.snapshot, edit.narrowing(listing, session));
    return PinnedFiles.over(plan, index, format, session);
  }

  private static GateFilter[] gateFilters(LogicalRelation plan, HadoopFsRelation files, ScanEdit edit) {
    GateFilter[] found = new GateFilter[edit.late.size()];
    String[] partitions = files.partitionSchema().fieldNames();
    for (int i = 0; i < found.length; i++) {
      JsonNode filter = Json.item(edit.late, i);
      Attribute column = Columns.find(plan, Json.field(filter, "column").asLong());
      int partition = -1;
      for (int p = 0; p < partitions.length; p++) if (partitions[p].equals(column.name())) partition = p;
      found[i] = new GateFilter(Json.field(filter, "id").asText(), Json.field(filter, "number").asInt(), column.name(),
          column.dataType(), partition, edit.caseSensitive);
    }
    return found;
  }
}
