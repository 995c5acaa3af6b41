package headgate.stream;

import headgate.interop.SparkVersion;
import java.util.UUID;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;

/**
 * The micro-batch that is being planned on this thread: its number and its two watermarks, in milliseconds.
 *
 * Spark plans a batch after it has set the batch's execution, so the execution found here is the batch's own. Were it
 * an older one, its watermarks would be lower, and a lower watermark only keeps more.
 */
public class MicroBatch {
  public final SparkSession session;
  public final SQLConf conf;
  public final String queryId;
  public final QueryExecution execution;
  public final long number;
  /** What stateful operators compare event times with. */
  public final long lateMs;
  /** The watermark that the batch starts with. */
  public final long currentMs;

  private MicroBatch(SparkSession session, String queryId, QueryExecution execution) throws Exception {
    this.session = session;
    this.conf = SQLConf$.MODULE$.get();  // the stream runs in a clone of the session, with settings of its own
    this.queryId = queryId;
    this.execution = execution;
    this.number = number(execution);
    this.currentMs = watermark(SparkVersion.read(execution, "offsetSeqMetadata"));
    this.lateMs = late(execution);
  }

  /** The batch that this thread plans, or null where it plans none. */
  public static MicroBatch running(SparkSession session) throws Exception {
    String id = session.sparkContext().getLocalProperty("sql.streaming.queryId");
    String number = session.sparkContext().getLocalProperty("streaming.sql.batchId");
    if (id == null || number == null) return null;
    if ("true".equals(session.sparkContext().getLocalProperty("__is_continuous_processing"))) return null;
    Object query = session.sharedState().activeStreamingQueries().get(UUID.fromString(id));
    if (!SparkVersion.isStreaming(query, "StreamExecution") || SparkVersion.isRealTime(query)) return null;
    QueryExecution execution = (QueryExecution) SparkVersion.read(query, "lastExecution");
    if (execution == null) return null;
    return number.equals(String.valueOf(number(execution))) ? new MicroBatch(session, id, execution) : null;
  }

  /** As WatermarkPropagator has it: the watermark of the batch before, or of this one where Spark is configured so. */
  private static long late(QueryExecution execution) throws Exception {
    Object propagator = SparkVersion.read(execution, "watermarkPropagator");
    if (SparkVersion.isStreaming(propagator, "UseSingleWatermarkPropagator")) return watermark(SparkVersion.read(execution, "offsetSeqMetadata"));
    if (!SparkVersion.isStreaming(propagator, "PropagateWatermarkSimulator") || number(execution) == 0L) return 0L;
    scala.Option before = (scala.Option) SparkVersion.read(execution, "prevOffsetSeqMetadata");
    return before.isDefined() ? Math.max(0L, watermark(before.get())) : 0L;
  }

  private static long number(QueryExecution execution) throws Exception {
    return ((Long) SparkVersion.read(execution, "currentBatchId")).longValue();
  }

  private static long watermark(Object metadata) throws Exception {
    return ((Long) SparkVersion.read(metadata, "batchWatermarkMs")).longValue();
  }

  public String outputMode() throws Exception { return SparkVersion.read(execution, "outputMode").toString(); }
  public String setting(String name, String standard) { return conf.getConfString("spark.headgate." + name, standard); }
  public boolean isOn(String name) { return !"false".equalsIgnoreCase(setting(name, "true").trim()); }
  public boolean isStrict() { return "true".equalsIgnoreCase(setting("watermark.strict", "false").trim()); }

  /** The largest event time, in microseconds, that strict mode leaves out. */
  public long strictCut() { return currentMs * 1000L - slackMicros(setting("watermark.slack", "0s")) - 1L; }

  private static long slackMicros(String text) {
    java.util.regex.Matcher parts = java.util.regex.Pattern.compile("\\s*([\\d.]+)\\s*(ms|s|min|m|h)\\s*").matcher(text.toLowerCase());
    if (!parts.matches()) throw new IllegalArgumentException("spark.headgate.watermark.slack=" + text + " is not a duration such as 0s");
    double unit = "ms".equals(parts.group(2)) ? 1e3 : "s".equals(parts.group(2)) ? 1e6 : "h".equals(parts.group(2)) ? 3600e6 : 60e6;
    return Math.round(Double.parseDouble(parts.group(1)) * unit);
  }
}
