package headgate.build;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Handover;
import headgate.interop.Json;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Runs several build sides side by side, each in a thread of its own with the query's job group and properties.
 *
 * request: {"limits": {...}, "builds": [{"node": id, "keys": [column numbers], "rowBytes": limit, "edits": {...}}]}
 */
public class Builds {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  /** Spark serves jobs in the order in which they come: a build behind the scan that it should narrow would be in vain. */
  private static final long HEAD_START_MILLIS = 1000L;
  private final BuildOwner owner;
  private final BuildRun[] runs;
  private final Thread[] threads;
  private final String tag = "headgate-" + java.util.UUID.randomUUID();

  public Builds(BuildOwner owner, String requestJson) throws Exception {
    this.owner = owner;
    JsonNode request = MAPPER.readTree(requestJson);
    JsonNode wanted = Json.field(request, "builds");
    runs = new BuildRun[wanted.size()];
    threads = new Thread[runs.length];
    CountDownLatch submitted = new CountDownLatch(runs.length);
    for (int i = 0; i < runs.length; i++) {
      runs[i] = new BuildRun(owner, Json.item(wanted, i), Json.field(request, "limits"), tag, submitted);
      threads[i] = new Thread(runs[i], "headgate-build-" + i);
      threads[i].setDaemon(true);
      threads[i].setContextClassLoader(Thread.currentThread().getContextClassLoader());
      threads[i].start();
    }
    try {
      submitted.await(HEAD_START_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();  // await() sees it, and ends the builds
    }
  }

  /** Ends the jobs of these builds, and of nothing else. */
  public void cancel() {
    for (int i = 0; i < runs.length; i++) runs[i].givenUp = true;
    owner.session().sparkContext().cancelJobsWithTag(tag);
  }

  /** Waits at most so long; hands over what the builds gave, or null when they still run. */
  public String await(long millis) throws Exception {
    long end = System.nanoTime() + millis * 1000000L;
    try {
      for (int i = 0; i < threads.length; i++) {
        // joining for 0 milliseconds would be for ever
        long left = (end - System.nanoTime()) / 1000000L;
        if (threads[i].isAlive() && left > 0L) threads[i].join(left);
      }
    } catch (InterruptedException interrupted) {
      for (int i = 0; i < threads.length; i++) threads[i].interrupt();
      owner.cancel(interrupted);
      Thread.currentThread().interrupt();
      return Handover.of(pack());
    }
    for (int i = 0; i < threads.length; i++) if (threads[i].isAlive()) return null;
    return Handover.of(pack());
  }

  /** For each build: its number, rows or -1, bytes, milliseconds, error text, then the partial domains of each key. */
  private byte[] pack() throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(runs.length);
    for (int i = 0; i < runs.length; i++) {
      Build build = runs[i].build;
      out.writeInt(owner.keep(build));
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
