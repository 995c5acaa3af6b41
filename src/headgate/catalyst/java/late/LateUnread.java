package headgate.late;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What late filters left unread, by scan and file: each file and row group counts once, however many splits a file has
 * and however often a plan is run.
 *
 * A task writes here while Spark's heartbeat may serialize it, so every look is under one lock.
 */
public class LateUnread implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private static final Long WHOLE = Long.valueOf(-1L);
  /** Of how many files it is told one by one what is closed: people look at it. */
  private static final int MOST_FILES = 20000;
  private final HashSet opened = new HashSet();
  private final HashMap closed = new HashMap();

  /** What travels is a copy, made under the lock. (Janino hides private methods from Java's serialization, so not `writeObject`.) */
  public Object writeReplace() { return copy(); }

  public synchronized boolean isEmpty() { return opened.isEmpty() && closed.isEmpty(); }

  public synchronized void clear() {
    opened.clear();
    closed.clear();
  }

  public synchronized void open(int scan, String path) { opened.add(scan + " " + path); }

  /** A row group that starts at some byte is closed by a filter. */
  public synchronized void close(int scan, String path, long fileBytes, long start, long bytes, int filter) {
    Map parts = partsOf(scan + " " + path, fileBytes, filter);
    if (!parts.containsKey(Long.valueOf(start))) parts.put(Long.valueOf(start), new long[] {bytes, filter});
  }

  /** A whole split is closed without a look at its row groups: its file lies in a partition that cannot match. */
  public synchronized void closeWhole(int scan, String path, long fileBytes, int filter) {
    partsOf(scan + " " + path, fileBytes, filter);
  }

  private Map partsOf(String file, long fileBytes, int filter) {
    Map parts = (Map) closed.get(file);
    if (parts == null) {
      parts = new HashMap();
      parts.put(WHOLE, new long[] {fileBytes, filter});
      closed.put(file, parts);
    }
    return parts;
  }

  public void addAll(LateUnread other) {
    LateUnread theirs = other.copy();
    synchronized (this) {
      opened.addAll(theirs.opened);
      Iterator each = theirs.closed.entrySet().iterator();
      while (each.hasNext()) {
        Map.Entry file = (Map.Entry) each.next();
        Map known = (Map) closed.get(file.getKey());
        if (known == null) closed.put(file.getKey(), file.getValue());
        else known.putAll((Map) file.getValue());
      }
    }
  }

  public synchronized LateUnread copy() {
    LateUnread twin = new LateUnread();
    twin.opened.addAll(opened);
    Iterator each = closed.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry file = (Map.Entry) each.next();
      twin.closed.put(file.getKey(), new HashMap((Map) file.getValue()));
    }
    return twin;
  }

  /** Of one scan: the files that were not read at all, and the row groups of other files that were not. */
  public synchronized long[] of(int scan) {
    long[] found = new long[2];
    Iterator each = closed.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry file = (Map.Entry) each.next();
      String name = (String) file.getKey();
      if (!name.startsWith(scan + " ")) continue;
      if (opened.contains(name)) found[1] += ((Map) file.getValue()).size() - 1;
      else found[0]++;
    }
    return found;
  }

  /** {"scans": {scan: [files, row groups, bytes, files whose row groups nobody counted]}, "filters": {filter: [files, row groups]}, "places": as `places` has it} */
  public synchronized Map toMap() {
    Map scans = new LinkedHashMap();
    Map filters = new LinkedHashMap();
    Iterator each = closed.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry file = (Map.Entry) each.next();
      String name = (String) file.getKey();
      add(!opened.contains(name), (Map) file.getValue(), at(scans, name.substring(0, name.indexOf(' ')), 4), filters);
    }
    Map found = new LinkedHashMap();
    found.put("scans", scans);
    found.put("filters", filters);
    if (closed.size() <= MOST_FILES) found.put("places", places());
    return found;
  }

  /** {scan: {path: [-1 if nothing of it is read, where each closed row group starts]}} */
  private Map places() {
    Map found = new LinkedHashMap();
    Iterator each = closed.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry file = (Map.Entry) each.next();
      String name = (String) file.getKey();
      String scan = name.substring(0, name.indexOf(' '));
      if (!found.containsKey(scan)) found.put(scan, new LinkedHashMap());
      List starts = new ArrayList(((Map) file.getValue()).keySet());
      java.util.Collections.sort(starts);
      if (opened.contains(name)) starts.remove(WHOLE);
      ((Map) found.get(scan)).put(name.substring(name.indexOf(' ') + 1), starts);
    }
    return found;
  }

  private static void add(boolean wholly, Map parts, long[] scan, Map filters) {
    long[] file = (long[]) parts.get(WHOLE);
    if (wholly) {
      scan[0]++;
      scan[2] += file[0];
      at(filters, String.valueOf(file[1]), 2)[0]++;
      if (parts.size() == 1) scan[3]++;
    }
    Iterator each = parts.entrySet().iterator();
    while (each.hasNext()) {
      Map.Entry part = (Map.Entry) each.next();
      if (part.getKey().equals(WHOLE)) continue;
      long[] group = (long[]) part.getValue();
      scan[1]++;
      if (!wholly) scan[2] += group[0];
      at(filters, String.valueOf(group[1]), 2)[1]++;
    }
  }

  private static long[] at(Map numbers, String key, int length) {
    long[] found = (long[]) numbers.get(key);
    if (found == null) {
      found = new long[length];
      numbers.put(key, found);
    }
    return found;
  }
}
