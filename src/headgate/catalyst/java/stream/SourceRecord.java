package headgate.stream;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.util.LongAccumulator;

/**
 * What is reported of one source of one micro-batch.
 *
 * It is kept long after its batch, so it holds numbers, text and two counters, and nothing that reaches a plan or an
 * execution: one of those keeps RDDs, broadcasts and shuffle files alive.
 */
public class SourceRecord {
  private final String name;
  private String column;
  private long cut;
  public String reason = "";
  public int files;
  public int filesSkipped;
  public int filesLookedAt;
  public int groups;
  public int groupsSkipped;
  public long lateRows;
  public long nulls;
  private LongAccumulator late;
  private LongAccumulator unknown;

  public SourceRecord(String name) { this.name = name; }

  public void cutAt(String column, long cut) {
    this.column = column;
    this.cut = cut;
  }

  /** Rows that the row test drops are looked up when somebody asks. */
  public void countBy(LongAccumulator late, LongAccumulator unknown) {
    this.late = late;
    this.unknown = unknown;
  }

  /** Whether this batch had late files, or late rows in files that nobody has looked at. */
  public boolean hintsAtLateFiles() {
    return filesSkipped > 0 || groupsSkipped > 0 || (late != null && filesLookedAt < files && late.sum() > 0L);
  }

  public Map toMap() {
    Map out = new LinkedHashMap();
    out.put("source", name);
    out.put("column", column);
    out.put("cutOff", column == null ? null : Long.valueOf(cut));
    out.put("lateRows", Long.valueOf((late == null ? 0L : late.sum()) + lateRows));
    out.put("nullRows", Long.valueOf(unknown == null ? nulls : unknown.sum()));
    out.put("files", Integer.valueOf(files));
    out.put("filesSkipped", Integer.valueOf(filesSkipped));
    out.put("rowGroups", Integer.valueOf(groups));
    out.put("rowGroupsSkipped", Integer.valueOf(groupsSkipped));
    out.put("reason", reason);
    return out;
  }
}
