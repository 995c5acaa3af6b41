package headgate.build;

import java.util.ArrayList;
import java.util.List;

/** What one run of a build side gave: its rows, when they are few enough, and the partial domains of its keys. */
public class Build {
  /** All rows as UnsafeRow, or null when they passed the limit. */
  public List rows = new ArrayList();
  public long rowCount;
  public long rowBytes;
  public long millis;
  public List partials = new ArrayList();
  public String error;
  /** What its scans have read, each a map. */
  public List reads = new ArrayList();
}
