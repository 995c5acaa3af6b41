package headgate.late;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Json;
import headgate.scan.Snapshot;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.classic.SparkSession;

/** The late filters of one query: where they come from, and what they did. Until some are expected, both are null. */
public class QueryLate {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private final SparkSession session;
  private final QueryEnds ends;
  private LateSource source;
  private LateFilterCounts counts;

  public QueryLate(SparkSession session, QueryEnds ends) {
    this.session = session;
    this.ends = ends;
  }

  /** Makes ready for filters that arrive while the query runs; saying it again changes nothing. */
  public synchronized void expect(JsonNode wanted, Snapshot snapshot) {
    if (source != null) return;
    int filters = Json.field(wanted, "filters").asInt();
    source = new LateSource(Json.field(wanted, "query").asText(), Json.field(wanted, "url").asText(), Json.field(wanted, "token").asText(),
        filters, Json.field(wanted, "maxWaitMs").asInt(), snapshot);
    ends.watch(source);
    counts = new LateFilterCounts(filters);
    session.sparkContext().register(counts, "headgate late filters");
  }

  public LateSource source() { return source; }
  public LateFilterCounts counts() { return counts; }

  /** What the late filters did so far, as JSON: `LateNumbers` of catalyst/wire.py. */
  public String numbers() throws Exception {
    Map found = counts == null ? new HashMap() : counts.unread().toMap();
    found.put("counts", counts == null ? new ArrayList() : counts.value());
    return MAPPER.writeValueAsString(found);
  }

  /** Lets go of what was counted file by file. */
  public void forgetUnread() { if (counts != null) counts.unread().clear(); }

  /** Lets go of the source, so that a plan that never runs is free to go; what was counted stays. */
  public synchronized void release() { source = null; }
}
