package headgate.stream;

import headgate.scan.KnownFiles;
import headgate.scan.OldCalendar;
import headgate.scan.PrunedParquet;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.util.LongAccumulator;

/** One source of one micro-batch, narrowed to what is not late; its record says afterwards what was left out. */
public class StreamSource {
  private final MicroBatch batch;
  private final BatchRecord whole;
  private final LogicalPlan plan;
  private final SourceRecord record;
  private boolean onTime = false;

  public StreamSource(MicroBatch batch, BatchRecord whole, LogicalPlan plan) { this(batch, whole, plan, nameOf(plan)); }
  public StreamSource(MicroBatch batch, BatchRecord whole, String name) { this(batch, whole, null, name); }

  private StreamSource(MicroBatch batch, BatchRecord whole, LogicalPlan plan, String name) {
    this.batch = batch;
    this.whole = whole;
    this.plan = plan;
    this.record = new SourceRecord(name);
    whole.sources.add(record);
  }

  private static String nameOf(LogicalPlan plan) {
    if (plan instanceof StreamingDataSourceV2ScanRelation) return ((StreamingDataSourceV2ScanRelation) plan).stream().toString();
    if (!(plan instanceof LogicalRelation)) return plan.nodeName();
    LogicalRelation relation = (LogicalRelation) plan;
    if (relation.stream().isDefined()) return relation.stream().get().toString();
    return relation.relation().getClass().getSimpleName();
  }

  /** The source with its late files, row groups and rows left out. */
  public LogicalPlan narrow(Demand demand) throws Exception {
    if (!demand.isCut()) {
      record.reason = demand.reason;
      return plan;
    }
    return filter(files() == null ? plan : onlyFiles((LogicalRelation) plan, demand), demand);
  }

  /** A plan with its late rows filtered out, unless it is known to have none. */
  public LogicalPlan filter(LogicalPlan below, Demand demand) {
    record.cutAt(demand.column.name(), demand.cut);
    whole.raise(demand.cut);
    if (isReportOnly()) {
      record.reason = "reported but not applied: spark.headgate.strategy=never";
      return below;
    }
    if (!batch.isOn("filterRows")) {
      record.reason = "late rows are not filtered: spark.headgate.filterRows=false";
      return below;
    }
    if (onTime) return below;
    if (folder(demand.column) >= 0) {
      // a test of nothing but folder names would make Spark list fewer files, and pack the others in another way
      record.reason = "late folders are skipped only in plain Parquet sources, with spark.headgate.pruneFiles=true";
      return below;
    }
    if (record.filesLookedAt < record.files) {
      record.reason = "no late file among " + record.filesLookedAt + " of " + record.files + ", so rows are tested instead";
    }
    LongAccumulator late = batch.session.sparkContext().longAccumulator();
    LongAccumulator unknown = batch.session.sparkContext().longAccumulator();
    record.countBy(late, unknown);
    return new Filter(EventTimeTest.test(demand.column, demand.cut, late, unknown), below);
  }

  /** The files of the source, or null where it is none of files. */
  private HadoopFsRelation files() { return KnownFiles.of(plan); }

  /** The place of the event time in the names of the folders, or -1 where it lies in the files. */
  private int folder(Attribute time) {
    if (files() == null) return -1;
    scala.Option found = files().partitionSchema().getFieldIndex(time.name());
    return found.isDefined() ? ((Integer) found.get()).intValue() : -1;
  }

  private boolean isReportOnly() { return "never".equalsIgnoreCase(batch.setting("strategy", "cost").trim()); }

  private LogicalPlan onlyFiles(LogicalRelation scan, Demand demand) throws Exception {
    HadoopFsRelation relation = files();
    // no subclass: what it reads otherwise, Delta's deleted rows for one, is not known here
    boolean known = relation.fileFormat().getClass() == ParquetFileFormat.class && relation.location().getClass() == InMemoryFileIndex.class;
    if (!known || !batch.isOn("pruneFiles") && !batch.isOn("pruneRowGroups")) return scan;
    EventTimeFiles files = new EventTimeFiles(relation, record, demand.cut, batch.isOn("pruneFiles"), batch.isOn("pruneRowGroups"));
    if (folder(demand.column) >= 0) {
      files.readFolders(folder(demand.column));
    } else {
      Configuration configuration = relation.sparkSession().sessionState().newHadoopConfWithOptions(relation.options());
      if (!OldCalendar.isSureTime(demand.cut) || KnownFiles.isByFieldId(relation)) return scan;
      boolean byCase = batch.conf.caseSensitiveAnalysis() || relation.sparkSession().sessionState().conf().caseSensitiveAnalysis();
      EventTimeColumn column = new EventTimeColumn(demand.column.name(), demand.column.dataType() instanceof TimestampType, byCase);
      files.readFooters(configuration, column, whole.afterLateFiles);
    }
    if (isReportOnly()) return scan;
    onTime = files.isOnTime();
    return files.ranges.isEmpty() ? scan : reading(scan, relation, files);
  }

  /** The same files in the same order, so that Spark cuts and packs them as ever, with less to read in some. */
  private static LogicalPlan reading(LogicalRelation scan, HadoopFsRelation relation, EventTimeFiles files) {
    HadoopFsRelation less = new HadoopFsRelation(relation.location(), relation.partitionSchema(), relation.dataSchema(),
        relation.bucketSpec(), new PrunedParquet(files.ranges), relation.options(), relation.sparkSession());
    LogicalRelation result = new LogicalRelation(less, scan.output(), scan.catalogTable(), scan.isStreaming(), scan.stream());
    result.copyTagsFrom(scan);
    return result;
  }
}
