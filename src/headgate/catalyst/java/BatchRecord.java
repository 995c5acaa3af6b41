package headgate;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What Headgate did in one micro-batch; rows that the row test counts are looked up when somebody asks. */
public class BatchRecord {
  public final List sources = new ArrayList();
  public long generation;
  public String failure = "";
  public final long number;
  private final long watermarkMs;
  private final boolean strict;
  private long highestCut = Long.MIN_VALUE;
  private final long started = System.nanoTime();
  private long ended;

  public BatchRecord(MicroBatch batch) {
    this.number = batch.number;
    this.strict = batch.isStrict();
    this.watermarkMs = strict ? batch.currentMs : batch.lateMs;
  }

  public void raise(long cut) { highestCut = Math.max(highestCut, cut); }
  public long highestCut() { return highestCut; }
  public void end() { ended = System.nanoTime(); }

  public Map toMap() {
    Map out = new LinkedHashMap();
    out.put("batchId", Long.valueOf(number));
    out.put("watermark", Long.valueOf(watermarkMs));
    out.put("strict", Boolean.valueOf(strict));
    out.put("generation", Long.valueOf(generation));
    out.put("planMicros", Long.valueOf((ended - started) / 1000L));
    List told = new ArrayList();
    for (int i = 0; i < sources.size(); i++) told.add(((StreamSource) sources.get(i)).toMap());
    out.put("sources", told);
    out.put("failure", failure);
    return out;
  }
}
