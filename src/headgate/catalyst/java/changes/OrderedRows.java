package headgate.changes;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.streaming.MapState;

/**
 * The rows of one vnode, in order of their bytes: sorted runs of blocks in Spark's state store, merged as they age.
 *
 * New rows gather in memory and become a run when there are many, or at the end of the epoch. Runs of one level become one
 * of the next; how many it takes differs between vnodes, so that not all merge in one epoch. A row that came and went is
 * forgotten when its two runs meet.
 */
class OrderedRows {
  private static final int LEAST_FAN = 4;
  private final MapState blocks;
  private final MapState zones;
  private final int fan;
  private final int blockBytes;
  private final int freshBytes;  // so many in memory become a run
  private final List runs = new ArrayList();  // oldest first
  private final List idsToLoad = new ArrayList();
  private final List levelsToLoad = new ArrayList();
  private List fresh = new ArrayList();
  private int gathered;
  private long nextId;
  private long weight;
  private Ranges dropped = Ranges.NONE;

  OrderedRows(MapState blocks, MapState zones, int vnode, int blockBytes, int freshBytes) {
    this.blocks = blocks;
    this.zones = zones;
    this.fan = LEAST_FAN + (vnode & 3);
    this.blockBytes = blockBytes;
    this.freshBytes = freshBytes;
  }

  long weight() { return weight; }
  boolean hasDropped() { return dropped.size() > 0; }
  boolean isDropped(byte[] key) { return dropped.contains(key); }
  int runs() { return runs.size() + idsToLoad.size(); }

  void add(byte[] key, int times) throws IOException {
    fresh.add(new Weighted(key, times));
    gathered += key.length + 40;
    weight += times;
    if (gathered >= freshBytes) flush();
  }

  /** What a range holds, in order; whatever was added is written first. */
  RunMerge in(byte[] low, byte[] high) throws IOException {
    flush();
    load();
    return new RunMerge(blocks, runs, low, high);
  }

  /** Forget rows that lie at either end of the order. */
  void drop(Ranges gone) throws IOException {
    if (gone.minus(dropped).size() == 0) return;
    flush();
    load();
    dropped = dropped.or(gone);
    for (int i = runs.size() - 1; i >= 0; i--) {
      Run run = (Run) runs.get(i);
      boolean changed = false;
      for (int j = run.zones.size() - 1; j >= 0; j--) {
        Run.Zone zone = run.zone(j);
        if (Ranges.of(zone.low, zone.high).minus(dropped).size() > 0) continue;
        blocks.removeKey(Long.valueOf(zone.block));
        weight -= zone.weight;
        run.zones.remove(j);
        changed = true;
      }
      if (!changed) continue;
      if (run.zones.isEmpty()) {
        zones.removeKey(Long.valueOf(run.id));
        runs.remove(i);
      } else {
        zones.updateValue(Long.valueOf(run.id), run.zonesAsBytes());
      }
    }
  }

  void flush() throws IOException {
    if (fresh.isEmpty()) return;
    load();
    Collections.sort(fresh);
    Writer writer = new Writer(0);
    Weighted last = null;
    for (int i = 0; i < fresh.size(); i++) {
      Weighted row = (Weighted) fresh.get(i);
      if (last != null && last.sameRow(row)) {
        last.weight += row.weight;
      } else {
        if (last != null) writer.put(last);
        last = row;
      }
    }
    writer.put(last);
    fresh = new ArrayList();
    gathered = 0;
    writer.close();
    while (lastOfLevel() >= fan) merge();
  }

  private int lastOfLevel() {
    int same = 0;
    for (int i = runs.size() - 1; i >= 0 && ((Run) runs.get(i)).level == ((Run) runs.get(runs.size() - 1)).level; i--) same++;
    return same;
  }

  private void merge() throws IOException {
    List old = new ArrayList(runs.subList(runs.size() - lastOfLevel(), runs.size()));
    RunMerge rows = new RunMerge(blocks, old, Ranges.LOWEST, Ranges.HIGHEST);
    Writer writer = new Writer(((Run) old.get(0)).level + 1);
    for (Weighted row = rows.next(); row != null; row = rows.next()) writer.put(row);
    runs.removeAll(old);
    writer.close();
    for (int i = 0; i < old.size(); i++) {
      Run gone = (Run) old.get(i);
      for (int j = 0; j < gone.zones.size(); j++) blocks.removeKey(Long.valueOf(gone.zone(j).block));
      zones.removeKey(Long.valueOf(gone.id));
    }
  }

  /** Writes rows, which come in order, as the blocks of a new run. */
  private class Writer {
    private final Run run;
    private final List waiting = new ArrayList();
    private int bytes;

    Writer(int level) { run = new Run(nextId++, level); }

    void put(Weighted row) {
      if (row.weight == 0) return;
      if (dropped.contains(row.key)) {
        weight -= row.weight;
        return;
      }
      waiting.add(row);
      bytes += 8 + row.key.length;
      if (bytes >= blockBytes) write();
    }

    void close() throws IOException {
      if (!waiting.isEmpty()) write();
      if (run.zones.isEmpty()) return;
      zones.updateValue(Long.valueOf(run.id), run.zonesAsBytes());
      runs.add(run);
    }

    private void write() {
      ByteBuffer block = ByteBuffer.allocate(bytes);
      long sum = 0L;
      for (int i = 0; i < waiting.size(); i++) {
        Weighted row = (Weighted) waiting.get(i);
        block.putInt(row.weight).putInt(row.key.length).put(row.key);
        sum += row.weight;
      }
      byte[] first = ((Weighted) waiting.get(0)).key;
      run.add(nextId, first, ((Weighted) waiting.get(waiting.size() - 1)).key, sum);
      blocks.updateValue(Long.valueOf(nextId++), block.array());
      waiting.clear();
      bytes = 0;
    }
  }

  private void load() throws IOException {
    for (int i = 0; i < idsToLoad.size(); i++) {
      Run run = new Run(((Long) idsToLoad.get(i)).longValue(), ((Integer) levelsToLoad.get(i)).intValue());
      run.readZones((byte[]) zones.getValue(Long.valueOf(run.id)));
      runs.add(run);
    }
    idsToLoad.clear();
    levelsToLoad.clear();
  }

  void write(DataOutputStream out) throws IOException {
    flush();
    out.writeLong(nextId);
    out.writeLong(weight);
    dropped.write(out);
    out.writeInt(runs());
    for (int i = 0; i < idsToLoad.size(); i++) writeRun(out, ((Long) idsToLoad.get(i)).longValue(), ((Integer) levelsToLoad.get(i)).intValue());
    for (int i = 0; i < runs.size(); i++) writeRun(out, ((Run) runs.get(i)).id, ((Run) runs.get(i)).level);
  }

  private static void writeRun(DataOutputStream out, long id, int level) throws IOException {
    out.writeLong(id);
    out.writeInt(level);
  }

  void read(DataInputStream in) throws IOException {
    nextId = in.readLong();
    weight = in.readLong();
    dropped = Ranges.read(in);
    for (int i = in.readInt(); i > 0; i--) {
      idsToLoad.add(Long.valueOf(in.readLong()));
      levelsToLoad.add(Integer.valueOf(in.readInt()));
    }
  }
}
