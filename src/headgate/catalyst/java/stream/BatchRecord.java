package headgate.stream;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What Headgate did in one micro-batch: numbers and text, with one SourceRecord for each source. */
public class BatchRecord {
  public final List sources = new ArrayList();
  public long generation;
  public String failure = "";
  public final long number;
  /** Whether the batch before had late files, so that this one's are worth a look. */
  public final boolean afterLateFiles;
  private final long watermarkMs;
  private final boolean strict;
  private long highestCut = Long.MIN_VALUE;
  private final long started = System.nanoTime();
  private long ended;

  public BatchRecord(MicroBatch batch, boolean afterLateFiles) {
    this.number = batch.number;
    this.strict = batch.isStrict();
    this.watermarkMs = strict ? batch.currentMs : batch.lateMs;
    this.afterLateFiles = afterLateFiles;
  }

  public void raise(long cut) { highestCut = Math.max(highestCut, cut); }
  public long highestCut() { return highestCut; }
  public void end() { ended = System.nanoTime(); }

  public boolean hintsAtLateFiles() {
    for (int i = 0; i < sources.size(); i++) if (((SourceRecord) sources.get(i)).hintsAtLateFiles()) return true;
    return false;
  }

  public Map toMap() {
    Map out = new LinkedHashMap();
    out.put("batchId", Long.valueOf(number));
    out.put("watermark", Long.valueOf(watermarkMs));
    out.put("strict", Boolean.valueOf(strict));
    out.put("generation", Long.valueOf(generation));
    out.put("planMicros", Long.valueOf((ended - started) / 1000L));
    List read = new ArrayList();
    for (int i = 0; i < sources.size(); i++) read.add(((SourceRecord) sources.get(i)).toMap());
    out.put("sources", read);
    out.put("failure", failure);
    return out;
  }
}
