package headgate.changes;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/** The halves of updates that wait for the other half of their key, which may come before or after them. */
class UpdatePairs {
  private final Map waiting = new HashMap();

  static class Half {
    final byte kind;
    final byte[] row;
    final boolean passes;

    Half(byte kind, byte[] row, boolean passes) {
      this.kind = kind;
      this.row = row;
      this.passes = passes;
    }
  }

  /** The other half, which no longer waits, or null; then this one waits. */
  Half match(byte[] key, Half half) {
    ByteBuffer name = ByteBuffer.wrap(key);
    ArrayDeque halves = (ArrayDeque) waiting.get(name);
    if (halves != null && ((Half) halves.peek()).kind != half.kind) {
      Half other = (Half) halves.poll();
      if (halves.isEmpty()) waiting.remove(name);
      return other;
    }
    if (halves == null) {
      halves = new ArrayDeque();
      waiting.put(name, halves);
    }
    halves.add(half);
    return null;
  }

  /** One of those whose other half never came, or null. */
  Half left() {
    if (waiting.isEmpty()) return null;
    Iterator all = waiting.values().iterator();
    ArrayDeque halves = (ArrayDeque) all.next();
    Half half = (Half) halves.poll();
    if (halves.isEmpty()) all.remove();
    return half;
  }
}
