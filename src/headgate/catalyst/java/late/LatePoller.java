package headgate.late;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Json;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.net.HttpURLConnection;
import java.net.URI;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.GZIPInputStream;

/**
 * Asks the coordinator for newer filters of one query, one connection for each executor and query.
 *
 * It ends when all filters have come, when the query is unknown there (it has ended), when nobody on this executor uses
 * the query any more, or when the coordinator cannot be reached: then there are no more filters, and the scan goes on.
 */
public class LatePoller implements Runnable {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final ConcurrentHashMap running = new ConcurrentHashMap();
  /** Addresses that did not answer when this process asked last: of any query, as a short one ends before it can know. */
  private static final ConcurrentHashMap cutOff = new ConcurrentHashMap();
  private static final int LEAST_WAIT_MS = 20;  // with none at all an executor would do nothing but ask
  private static final int TRIES = 5;
  private final String query;
  private final String url;
  private final String token;
  private final int filters;
  private final int maxWaitMs;
  private final WeakReference state;

  private LatePoller(LateSource source, LateState state) {
    this.query = source.query;
    this.url = source.url;
    this.token = source.token;
    this.filters = source.filters;
    this.maxWaitMs = Math.max(source.maxWaitMs, LEAST_WAIT_MS);
    this.state = new WeakReference(state);
  }

  public static void ensure(LateSource source, LateState state) {
    if (source.url == null || running.putIfAbsent(source.query, Boolean.TRUE) != null) return;
    Thread thread = new Thread(new LatePoller(source, state), "headgate-filters-" + source.query);
    thread.setDaemon(true);
    thread.start();
  }

  /** Whether a coordinator did not answer this process when it was asked last. */
  static boolean isCutOff(String url) { return url != null && cutOff.containsKey(url); }

  public void run() {
    long version = 0L;
    int failed = 0;
    int seen = 0;
    while (seen < filters && failed < TRIES && state.get() != null) {
      try {
        JsonNode news = ask(version);
        cutOff.remove(url);
        if (news == null) break;
        seen += take(news);
        version = Json.field(news, "version").asLong();
        failed = 0;
      } catch (Exception unreachable) {
        failed++;
        cutOff.put(url, Boolean.TRUE);
        pause(50L << failed);
      }
    }
    running.remove(query);
  }

  private static void pause(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    }
  }

  /** Hands over the filters of an answer; returns how many of them are complete. */
  private int take(JsonNode news) {
    LateState known = (LateState) state.get();
    int complete = 0;
    Iterator names = Json.field(news, "filters").fieldNames();
    while (names.hasNext()) {
      String name = (String) names.next();
      JsonNode filter = Json.field(Json.field(news, "filters"), name);
      boolean last = Json.field(filter, "complete").asBoolean();
      if (last) complete++;
      if (known != null) known.arrive(name, Json.field(filter, "version").asLong(), last, Json.field(filter, "domain").toString());
    }
    return complete;
  }

  /** One long poll; null when the query is not known any more. */
  private JsonNode ask(long version) throws Exception {
    HttpURLConnection connection = (HttpURLConnection) URI.create(url + "/v1/query/" + query + "/dynamicfilters").toURL().openConnection();
    connection.setConnectTimeout(2000);
    connection.setReadTimeout(maxWaitMs + 5000);
    connection.setRequestProperty("Authorization", "Bearer " + token);
    connection.setRequestProperty("Accept-Encoding", "gzip");
    connection.setRequestProperty("X-Headgate-Current-Version", String.valueOf(version));
    connection.setRequestProperty("X-Headgate-Max-Wait", maxWaitMs + "ms");
    int status = connection.getResponseCode();
    if (status == 404 || status == 410 || status == 401) return null;
    if (status != 200) throw new java.io.IOException("status " + status);
    InputStream body = connection.getInputStream();
    if ("gzip".equals(connection.getContentEncoding())) body = new GZIPInputStream(body);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    byte[] chunk = new byte[8192];
    for (int n = body.read(chunk); n >= 0; n = body.read(chunk)) bytes.write(chunk, 0, n);
    body.close();
    return MAPPER.readTree(bytes.toByteArray());
  }
}
