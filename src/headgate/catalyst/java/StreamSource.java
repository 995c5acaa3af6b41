package headgate;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.v2.StreamingDataSourceV2ScanRelation;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.util.LongAccumulator;

/** One source of one micro-batch: narrowed to what is not late, and what is told of it afterwards. */
public class StreamSource {
  private final MicroBatch batch;
  private final BatchRecord record;
  private final LogicalPlan plan;
  private final String name;
  private String column;
  private long cut;
  private String reason = "";
  private LateFiles files;
  private LongAccumulator late;
  private LongAccumulator unknown;

  public StreamSource(MicroBatch batch, BatchRecord record, LogicalPlan plan) { this(batch, record, plan, nameOf(plan)); }
  public StreamSource(MicroBatch batch, BatchRecord record, String name) { this(batch, record, null, name); }

  private StreamSource(MicroBatch batch, BatchRecord record, LogicalPlan plan, String name) {
    this.batch = batch;
    this.record = record;
    this.plan = plan;
    this.name = name;
    record.sources.add(this);
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
      reason = demand.reason;
      return plan;
    }
    boolean byFiles = plan instanceof LogicalRelation && ((LogicalRelation) plan).relation() instanceof HadoopFsRelation;
    return filter(byFiles ? onlyFiles((LogicalRelation) plan, demand) : plan, demand);
  }

  /** A plan with its late rows filtered out, unless its statistics say that it has none. */
  public LogicalPlan filter(LogicalPlan below, Demand demand) {
    column = demand.column.name();
    cut = demand.cut;
    record.raise(cut);
    if (isReportOnly()) {
      reason = "spark.headgate.strategy=never only reports";
      return below;
    }
    if (!batch.isOn("filterRows")) {
      reason = "spark.headgate.filterRows is false";
      return below;
    }
    if (files != null && files.isOnTime()) return below;
    if (isFolderName(demand.column)) {
      reason = "Spark leaves out late folders by their names, uncounted";
      Expression later = new GreaterThan(demand.column, new Literal(Long.valueOf(cut), demand.column.dataType()));
      return new Filter(new Or(new IsNull(demand.column), later), below);
    }
    late = batch.session.sparkContext().longAccumulator();
    unknown = batch.session.sparkContext().longAccumulator();
    return new Filter(LateCounter.test(demand.column, cut, late, unknown), below);
  }

  private boolean isFolderName(Attribute time) {
    if (!(plan instanceof LogicalRelation) || !(((LogicalRelation) plan).relation() instanceof HadoopFsRelation)) return false;
    return ((HadoopFsRelation) ((LogicalRelation) plan).relation()).partitionSchema().getFieldIndex(time.name()).isDefined();
  }

  private boolean isReportOnly() { return "never".equalsIgnoreCase(batch.setting("strategy", "cost").trim()); }

  private LogicalPlan onlyFiles(LogicalRelation scan, Demand demand) throws Exception {
    HadoopFsRelation relation = (HadoopFsRelation) scan.relation();
    boolean byName = !batch.conf.getConfString("spark.sql.parquet.fieldId.read.enabled", "false").equals("true");
    if (!batch.isOn("pruneFiles") && !batch.isOn("pruneRowGroups")) return scan;
    // a cut-off before 1970 is compared with nothing: such dates may be written in another calendar
    if (!(relation.fileFormat() instanceof ParquetFileFormat) || !byName || demand.cut < 0L) return scan;
    if (isFolderName(demand.column)) return scan;
    files = new LateFiles(relation, demand.column.name(), demand.column.dataType() instanceof TimestampType, demand.cut,
        batch.conf.caseSensitiveAnalysis(), batch.isOn("pruneFiles"), batch.isOn("pruneRowGroups"));
    files.read(batch.session.sessionState().newHadoopConfWithOptions(relation.options()));
    if (isReportOnly() || !files.isNarrower()) return scan;
    FileFormat format = files.ranges.isEmpty() ? relation.fileFormat() : new PrunedParquet(files.ranges);
    HadoopFsRelation pruned = new HadoopFsRelation(relation.location(),
        relation.partitionSchema(), relation.dataSchema(), relation.bucketSpec(), format, relation.options(), relation.sparkSession());
    LogicalRelation result = new LogicalRelation(pruned, scan.output(), scan.catalogTable(), scan.isStreaming(), scan.stream());
    result.copyTagsFrom(scan);
    return result;
  }

  public Map toMap() {
    Map out = new LinkedHashMap();
    out.put("source", name);
    out.put("column", column);
    out.put("cutOff", column == null ? null : Long.valueOf(cut));
    out.put("lateRows", Long.valueOf((late == null ? 0L : late.sum()) + (files == null ? 0L : files.lateRows)));
    out.put("nullRows", Long.valueOf(unknown != null ? unknown.sum() : files == null ? 0L : files.nulls));
    out.put("files", Integer.valueOf(files == null ? 0 : files.files));
    out.put("filesSkipped", Integer.valueOf(files == null ? 0 : files.filesSkipped));
    out.put("rowGroups", Integer.valueOf(files == null ? 0 : files.groups));
    out.put("rowGroupsSkipped", Integer.valueOf(files == null ? 0 : files.groupsSkipped));
    out.put("reason", reason);
    return out;
  }
}
