package headgate.changes;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Rows in order, cut into blocks: for each block its number, the bounds of its rows, and the sum of their weights. */
class Run {
  private static final int BOUND = 32;  // bytes of a row that its block's bounds keep
  final long id;
  final int level;
  final List zones = new ArrayList();

  Run(long id, int level) {
    this.id = id;
    this.level = level;
  }

  static class Zone {
    final long block;
    final byte[] low;
    final byte[] high;
    final long weight;

    Zone(long block, byte[] low, byte[] high, long weight) {
      this.block = block;
      this.low = low;
      this.high = high;
      this.weight = weight;
    }

    boolean isBelow(byte[] from) { return high != Ranges.HIGHEST && Arrays.compareUnsigned(high, from) <= 0; }
    boolean isAbove(byte[] to) { return to != Ranges.HIGHEST && Arrays.compareUnsigned(low, to) >= 0; }
  }

  Zone zone(int i) { return (Zone) zones.get(i); }

  void add(long block, byte[] first, byte[] last, long weight) {
    byte[] low = first.length <= BOUND ? first : Arrays.copyOf(first, BOUND);
    byte[] high = last.length < BOUND ? Arrays.copyOf(last, last.length + 1) : OrderCode.after(Arrays.copyOf(last, BOUND));
    zones.add(new Zone(block, low, high, weight));
  }

  byte[] zonesAsBytes() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeInt(zones.size());
    for (int i = 0; i < zones.size(); i++) {
      out.writeLong(zone(i).block);
      Bytes.write(out, zone(i).low);
      Bytes.write(out, zone(i).high);
      out.writeLong(zone(i).weight);
    }
    return bytes.toByteArray();
  }

  void readZones(byte[] bytes) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes));
    for (int i = in.readInt(); i > 0; i--) zones.add(new Zone(in.readLong(), Bytes.read(in), Bytes.read(in), in.readLong()));
  }
}
