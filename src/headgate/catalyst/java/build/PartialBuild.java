package headgate.build;

/** One build task's report: its rows as length-prefixed bytes (or null over the limit) and a packed domain for each key. */
public class PartialBuild implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  public long rowCount;
  public byte[] rows;
  public byte[][] keys;
}
