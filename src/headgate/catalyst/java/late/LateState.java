package headgate.late;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Json;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * What one process knows of one query's late filters: the newest domain of each that has arrived, and since when.
 *
 * Readers look at `version` and `find` without a lock; filters only ever get narrower, so an old look is a wider one.
 */
public class LateState {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  /** How the text of a filter begins: whether more may come of it. Both are of one length; its version follows. */
  private static final String COMPLETE = "complete ";
  private static final String GROWING = "growing  ";
  public final String query;
  private volatile HashMap domains = new HashMap();
  private volatile HashMap received = new HashMap();
  private volatile HashMap numbers = new HashMap();
  private volatile HashMap texts = new HashMap();
  public volatile long version = 0L;

  public LateState(String query) { this.query = query; }

  public LateDomain find(String filter) { return (LateDomain) domains.get(filter); }
  public long receivedAt(String filter) {
    Long at = (Long) received.get(filter);
    return at == null ? 0L : at.longValue();
  }

  /** Whether nothing more will come of a filter. */
  public boolean isComplete(String filter) {
    String text = (String) texts.get(filter);
    return text != null && text.startsWith(COMPLETE);
  }

  /** Takes in one filter: {"columnDomains": null or {column: domain}}. Of several versions the newest counts. */
  public synchronized void arrive(String filter, long number, boolean complete, String json) {
    Long known = (Long) numbers.get(filter);
    if (known != null && known.longValue() >= number) return;
    LateDomain domain = LateDomain.all();
    try {
      JsonNode columns = Json.field(MAPPER.readTree(json), "columnDomains");
      if (columns != null && columns.isNull()) domain = LateDomain.none();
      else if (columns != null && columns.size() == 1) domain = LateDomain.read((JsonNode) columns.elements().next());
    } catch (Exception unreadable) {
      domain = LateDomain.all();
    }
    if (known == null) received = with(received, filter, Long.valueOf(System.currentTimeMillis()));
    numbers = with(numbers, filter, Long.valueOf(number));
    domains = with(domains, filter, domain);
    // last: whoever sees that a filter is complete has to find its last domain
    texts = with(texts, filter, (complete ? COMPLETE : GROWING) + number + " " + json);
    version++;
  }

  /** All that has arrived, as it came: it travels with each task. */
  public HashMap snapshot() { return texts; }

  public void arriveAll(Map snapshot) {
    Iterator each = snapshot.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      String text = (String) entry.getValue();
      int end = text.indexOf(' ', COMPLETE.length());
      long number = Long.parseLong(text.substring(COMPLETE.length(), end));
      arrive((String) entry.getKey(), number, text.startsWith(COMPLETE), text.substring(end + 1));
    }
  }

  private static HashMap with(HashMap before, String key, Object value) {
    HashMap after = new HashMap(before);
    after.put(key, value);
    return after;
  }
}
