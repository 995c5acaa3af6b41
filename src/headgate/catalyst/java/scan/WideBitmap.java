package headgate.scan;

import java.io.DataOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.roaringbitmap.RoaringBitmap;

/**
 * Roaring's portable format of 64-bit bitmaps, which other libraries read too: how many upper halves there are (8 bytes, little
 * endian), then each of them (4 bytes) with the 32-bit bitmap of its lower halves. Roaring numbers have no sign, so the sign bit
 * of each id is flipped, which keeps the order.
 */
class WideBitmap {
  private static final int FLIP = 0x80000000;

  static void write(IdSet ids, DataOutputStream out) throws java.io.IOException {
    long[] loose = ids.looseIds();
    out.writeLong(Long.reverseBytes((long) ids.bitmaps() + halves(loose)));
    int at = 0;
    int next = 0;
    while (at < loose.length || next < ids.bitmaps()) {
      int high = at < loose.length ? (int) (loose[at] >> 32) : 0;
      if (at == loose.length || next < ids.bitmaps() && ids.high(next) < high) {
        put(ids.high(next), ids.bitmap(next), out);
        next++;
      } else {
        RoaringBitmap few = new RoaringBitmap();
        while (at < loose.length && (int) (loose[at] >> 32) == high) few.add((int) loose[at++]);
        few.runOptimize();
        put(high, few, out);
      }
    }
  }

  private static void put(int high, RoaringBitmap lows, DataOutputStream out) throws java.io.IOException {
    out.writeInt(Integer.reverseBytes(high ^ FLIP));
    lows.serialize(out);
  }

  private static long halves(long[] sorted) {
    long found = 0L;
    for (int i = 0; i < sorted.length; i++) if (i == 0 || sorted[i] >> 32 != sorted[i - 1] >> 32) found++;
    return found;
  }

  static IdSet read(ByteBuffer packed) throws java.io.IOException {
    ByteBuffer from = packed.order(ByteOrder.LITTLE_ENDIAN);
    IdSet ids = new IdSet();
    long halves = from.getLong();
    if (halves < 0L || halves > from.remaining()) throw new java.io.IOException("no bitmap of 64 bits: it would have " + halves + " parts");
    for (long i = 0L; i < halves; i++) {
      int high = from.getInt() ^ FLIP;
      RoaringBitmap lows = new RoaringBitmap();
      lows.deserialize((ByteBuffer) from.slice());
      from.position(from.position() + lows.serializedSizeInBytes());
      ids.addAll(high, lows);
    }
    if (from.hasRemaining()) throw new java.io.IOException("no bitmap of 64 bits: " + from.remaining() + " bytes are left over");
    return ids;
  }
}
