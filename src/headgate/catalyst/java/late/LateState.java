package headgate.late;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Json;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * What one process knows of one query's late filters: the domain of each that has arrived, and since when.
 *
 * Readers look at `version` and `find` without a lock; filters only ever arrive, so an old look is a wider one.
 */
public class LateState {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  public final String query;
  private volatile HashMap domains = new HashMap();
  private volatile HashMap received = new HashMap();
  private volatile HashMap texts = new HashMap();
  public volatile long version = 0L;

  public LateState(String query) { this.query = query; }

  public LateDomain find(String filter) { return (LateDomain) domains.get(filter); }
  public long receivedAt(String filter) {
    Long at = (Long) received.get(filter);
    return at == null ? 0L : at.longValue();
  }

  /** Takes in one complete filter: {"columnDomains": null or {column: domain}}; the first one counts. */
  public synchronized void arrive(String filter, String json) {
    if (domains.containsKey(filter)) return;
    LateDomain domain = LateDomain.all();
    try {
      JsonNode columns = Json.field(MAPPER.readTree(json), "columnDomains");
      if (columns != null && columns.isNull()) domain = LateDomain.none();
      else if (columns != null && columns.size() == 1) domain = LateDomain.read((JsonNode) columns.elements().next());
    } catch (Exception unreadable) {
      domain = LateDomain.all();
    }
    received = with(received, filter, Long.valueOf(System.currentTimeMillis()));
    texts = with(texts, filter, json);
    domains = with(domains, filter, domain);
    version++;
  }

  /** All that has arrived, as it came: it travels with each task. */
  public HashMap snapshot() { return texts; }

  public void arriveAll(Map snapshot) {
    Iterator each = snapshot.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      arrive((String) entry.getKey(), (String) entry.getValue());
    }
  }

  private static HashMap with(HashMap before, String key, Object value) {
    HashMap after = new HashMap(before);
    after.put(key, value);
    return after;
  }
}
