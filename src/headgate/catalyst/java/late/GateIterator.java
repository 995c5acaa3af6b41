package headgate.late;

import headgate.scan.FileParts;
import java.util.ArrayList;
import java.util.LinkedList;
import java.util.List;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

/**
 * The rows (or batches) of one split, read in ranges of some megabytes; before each range the gate is asked.
 *
 * A range holds the row groups whose middle lies in it, so the ranges of a split read each of its row groups once.
 */
public class GateIterator extends FileParts {
  /** Small enough that a filter which arrives is soon felt, large enough that opening a file again does not count. */
  private static final long RANGE = 32L << 20;
  private final LateGate gate;
  private final LinkedList ranges = new LinkedList();
  private List groups;
  private long checked = 0L;
  private boolean opened = false;

  public GateIterator(scala.Function1 reader, PartitionedFile file, LateGate gate) {
    super(reader, file);
    this.gate = gate;
    long end = file.start() + file.length();
    for (long at = file.start(); at < end; at += RANGE) ranges.add(new long[] {at, Math.min(at + RANGE, end)});
    // the rest of a file is no range of its own
    if (ranges.size() > 1 && end - ((long[]) ranges.getLast())[0] < RANGE / 2) {
      ranges.removeLast();
      ((long[]) ranges.getLast())[1] = end;
    }
  }

  public boolean hasNext() {
    while (!hasMore()) {
      close();
      narrow();
      if (ranges.isEmpty()) return false;
      long[] range = (long[]) ranges.removeFirst();
      if (!opened) gate.noteOpened(file);
      opened = true;
      open(range[0], range[1]);
    }
    return true;
  }

  /** Asks the gate again if a filter has arrived since it was asked last. */
  private void narrow() {
    long version = gate.version();
    if (version == checked || ranges.isEmpty()) return;
    checked = version;
    if (!gate.mayMatch(file)) {
      ranges.clear();
      return;
    }
    if (groups == null) groups = gate.rowGroups(part(((long[]) ranges.getFirst())[0], file.start() + file.length()));
    if (groups == null) return;
    long from = ((long[]) ranges.getFirst())[0];
    List ahead = new ArrayList();
    for (int i = 0; i < groups.size(); i++) {
      BlockMetaData group = (BlockMetaData) groups.get(i);
      if (group.getStartingPos() + group.getCompressedSize() / 2L >= from) ahead.add(group);
    }
    groups = gate.surviving(file, ahead);
    if (groups.size() < ahead.size() || groups.isEmpty()) rangesOfGroups();
  }

  /** One range for each run of neighbouring row groups that survive, none longer than need be. */
  private void rangesOfGroups() {
    ranges.clear();
    long[] last = null;
    for (int i = 0; i < groups.size(); i++) {
      BlockMetaData group = (BlockMetaData) groups.get(i);
      long start = group.getStartingPos();
      long end = start + group.getCompressedSize();
      if (last != null && last[1] == start && end - last[0] <= RANGE) {
        last[1] = end;
      } else {
        last = new long[] {start, end};
        ranges.add(last);
      }
    }
  }
}
