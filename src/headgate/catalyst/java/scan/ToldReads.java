package headgate.scan;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What the told scans of one query have read, as their sources counted it: by scan, once the query has run. */
public class ToldReads {
  private final Map counts = new LinkedHashMap();

  private final Set untold = new LinkedHashSet();
  private boolean expected;

  public synchronized void untold(int scan) { untold.add(Integer.valueOf(scan)); }

  /** The scans whose source could not be told. */
  public synchronized List untold() { return new ArrayList(untold); }

  synchronized void expect() { expected = true; }

  /** Whether something is expected that has not been counted. */
  public synchronized boolean isMissing() { return expected && counts.isEmpty(); }

  synchronized void note(int scan, Map counted) {
    ReadCounts.complete(counted, (Map) counts.get(String.valueOf(scan)));
    counts.put(String.valueOf(scan), counted);
  }

  /** {scan: {"files": n, "filesTotal": n, "rows": n, "bytes": n, "bytesTotal": n, "without": [column], "setting": name}}, each only where the source tells it. */
  public synchronized Map counts() { return new LinkedHashMap(counts); }
}
