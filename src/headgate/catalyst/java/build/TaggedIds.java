package headgate.build;

import headgate.scan.IdSet;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;

/**
 * Sets of ids by tag. Packed: whether all ids are in it, how many sets there are, then for each its tag (8 bytes), its form, the
 * length of its body, and that.
 */
class TaggedIds {
  private static final long EACH_SET = 400L;
  private final TreeMap sets = new TreeMap();
  private Long recentTag;
  private IdSet recent;

  IdSet of(long tag) {
    if (recent != null && recentTag.longValue() == tag) return recent;
    recentTag = Long.valueOf(tag);
    recent = (IdSet) sets.get(recentTag);
    if (recent == null) {
      recent = new IdSet();
      sets.put(recentTag, recent);
    }
    return recent;
  }

  /** How many ids there are, over all tags. */
  long size() {
    long found = 0L;
    Iterator each = sets.values().iterator();
    while (each.hasNext()) found += ((IdSet) each.next()).size();
    return found;
  }

  boolean passes(long maxIds, long maxBytes) {
    long bytes = sets.size() * EACH_SET;
    Iterator each = sets.values().iterator();
    while (each.hasNext()) bytes += ((IdSet) each.next()).bytes();
    return bytes > maxBytes || size() > maxIds;
  }

  /** Takes in what a task packed; returns whether the task had collected all of its ids. */
  boolean take(byte[] packed) throws java.io.IOException {
    ByteBuffer from = ByteBuffer.wrap(packed);
    boolean complete = from.get() != 0;
    int count = from.getInt();
    for (int i = 0; i < count; i++) {
      IdSet mine = of(from.getLong());
      int form = from.get();
      byte[] body = new byte[from.getInt()];
      from.get(body);
      mine.or(IdSet.read(form, body));
    }
    return complete;
  }

  byte[] packed(boolean complete) throws java.io.IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream out = new DataOutputStream(bytes);
    out.writeBoolean(complete);
    out.writeInt(sets.size());
    Iterator each = sets.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry entry = (Map.Entry) each.next();
      IdSet ids = (IdSet) entry.getValue();
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      int form = ids.form();
      ids.write(new DataOutputStream(body), form);
      out.writeLong(((Long) entry.getKey()).longValue());
      out.writeByte(form);
      out.writeInt(body.size());
      body.writeTo(out);
    }
    return bytes.toByteArray();
  }
}
