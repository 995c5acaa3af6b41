package headgate.tap;

import headgate.interop.Handover;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.util.ArrayList;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerStageCompleted;

/**
 * Waits for tapped stages. A tap is complete when its stage has ended well: then every partition has reported its keys.
 *
 * A stage in which no task saw a key reports nothing, and its filter never comes.
 */
public class Taps extends SparkListener {
  private final ConcurrentHashMap waiting = new ConcurrentHashMap();

  public CountDownLatch expect(TapKeys keys) {
    CountDownLatch done = new CountDownLatch(1);
    waiting.put(Long.valueOf(keys.id()), done);
    return done;
  }

  public void forget(TapKeys keys) { waiting.remove(Long.valueOf(keys.id())); }

  public void onStageCompleted(SparkListenerStageCompleted event) {
    if (waiting.isEmpty() || event.stageInfo().failureReason().isDefined()) return;
    java.util.Iterator each = new ArrayList(waiting.keySet()).iterator();
    while (each.hasNext()) {
      Object id = each.next();
      if (event.stageInfo().accumulables().contains(id)) ((CountDownLatch) waiting.remove(id)).countDown();
    }
  }

  /** Waits for one tap; hands over the packed domains of its tasks, or null when they are not all in. */
  public static String await(TapKeys keys, CountDownLatch done, long millis) throws Exception {
    if (!done.await(millis, TimeUnit.MILLISECONDS)) return null;
    ArrayList parts = keys.taken();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    for (int i = 0; i < parts.size(); i++) {
      byte[] part = (byte[]) parts.get(i);
      out.writeInt(part.length);
      out.write(part);
    }
    return Handover.of(bytes.toByteArray());
  }
}
