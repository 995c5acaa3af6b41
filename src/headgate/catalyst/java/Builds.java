package headgate;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.List;
import org.apache.spark.SparkContext;

/**
 * Runs several build sides side by side, each in a thread of its own with the query's job group and properties.
 *
 * request: {"limits": {...}, "builds": [{"node": id, "keys": [column numbers], "rowBytes": limit, "edits": {...}}]}
 */
public class Builds {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private final QueryContext context;

  public Builds(QueryContext context) { this.context = context; }

  public byte[] run(String requestJson) throws Exception {
    JsonNode request = MAPPER.readTree(requestJson);
    JsonNode wanted = Json.field(request, "builds");
    BuildRun[] runs = new BuildRun[wanted.size()];
    Thread[] threads = new Thread[runs.length];
    for (int i = 0; i < runs.length; i++) {
      runs[i] = new BuildRun(context, Json.item(wanted, i), Json.field(request, "limits"));
      threads[i] = new Thread(runs[i], "headgate-build-" + i);
      threads[i].setDaemon(true);
      threads[i].setContextClassLoader(Thread.currentThread().getContextClassLoader());
      threads[i].start();
    }
    try {
      for (int i = 0; i < threads.length; i++) threads[i].join();
    } catch (InterruptedException interrupted) {
      for (int i = 0; i < threads.length; i++) threads[i].interrupt();
      context.cancelled = interrupted;
      Thread.currentThread().interrupt();
    }
    return pack(runs);
  }

  /** For each build: its number, rows or -1, bytes, milliseconds, error text, then the partial domains of each key. */
  private byte[] pack(BuildRun[] runs) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(runs.length);
    for (int i = 0; i < runs.length; i++) {
      Build build = runs[i].build;
      out.writeInt(context.builds.size());
      context.builds.add(build);
      out.writeLong(build.rowCount);
      out.writeBoolean(build.rows != null);
      out.writeLong(build.rowBytes);
      out.writeLong(build.millis);
      byte[] error = build.error == null ? new byte[0] : build.error.getBytes("UTF-8");
      out.writeInt(error.length);
      out.write(error);
      out.writeInt(runs[i].keyCount());
      out.writeInt(build.partials.size());
      for (int p = 0; p < build.partials.size(); p++) {
        byte[][] keys = (byte[][]) build.partials.get(p);
        for (int k = 0; k < keys.length; k++) {
          out.writeInt(keys[k].length);
          out.write(keys[k]);
        }
      }
      build.partials = null;
    }
    return bytes.toByteArray();
  }
}
