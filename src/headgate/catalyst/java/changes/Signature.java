package headgate.changes;

import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Rethrow;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What an operator is made of, kept in the checkpoint: state that was kept for another one would give wrong rows.
 *
 * It is a source that never has a row: Spark shows a source where its query's checkpoint lies, before any batch runs.
 */
public class Signature implements MovingValue {
  /** What may be given later: the value that counts stays the one that counted. */
  private static final String ORDER = "order";
  /** What a row in the offsets is read by, from the first batch on, whether that has ended or not. */
  private static final String RIGHT = "right side";
  private static final String NONE = "none";
  private static final String FILE = "headgate-operator.json";
  private static final String DRAFT = "headgate-operator.new";
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private final SparkSession session;
  private final String what;
  private final Map parts;  // name -> text, in the order in which they are told

  public Signature(SparkSession session, String what, String parts) throws IOException {
    this.session = session;
    this.what = what;
    this.parts = (Map) MAPPER.readValue(parts, LinkedHashMap.class);
  }

  /** Look into the checkpoint, `<root>/sources/<number>`, and keep what is new there. */
  public void startsAt(String checkpoint) {
    try {
      Path home = new Path(checkpoint);
      Path root = home.getParent().getParent();
      FileSystem files = root.getFileSystem(session.sessionState().newHadoopConf());
      boolean begun = holdsBatches(files, new Path(root, "offsets"));
      Map was = begun ? kept(files, home) : null;
      if (begun && was == null) throw new IllegalStateException("The checkpoint " + root + " was begun without " + what + ", or with other sources before it: start the query as it was, or with a new checkpoint.");
      if (was != null) check(root, was, holdsBatches(files, new Path(root, "commits")));
      if (!parts.equals(was)) keep(files, home);
    } catch (IOException failure) {
      Rethrow.raise(failure);
    }
  }

  private void check(Path root, Map was, boolean committed) {
    List told = new ArrayList();
    for (Iterator names = parts.keySet().iterator(); names.hasNext();) {
      String name = (String) names.next();
      Object before = was.get(name);
      boolean binds = committed ? !(name.equals(ORDER) && NONE.equals(before)) : name.equals(RIGHT);
      if (binds && !parts.get(name).equals(before)) told.add(name + " " + before + ", which is now " + parts.get(name));
    }
    if (!told.isEmpty()) throw new IllegalStateException("The checkpoint " + root + " was written by an operator with " + String.join("; with ", told) + ": give what it was written with again, or start " + what + " with a new checkpoint.");
  }

  private static boolean holdsBatches(FileSystem files, Path folder) throws IOException {
    try {
      FileStatus[] found = files.listStatus(folder);
      for (int i = 0; i < found.length; i++) if (Character.isDigit(found[i].getPath().getName().charAt(0))) return true;
    } catch (FileNotFoundException absent) {
      return false;
    }
    return false;
  }

  private static Map kept(FileSystem files, Path home) throws IOException {
    Path draft = new Path(home, DRAFT);  // whole where it stands alone: the other one is deleted when it is written
    Path found = files.exists(new Path(home, FILE)) || !files.exists(draft) ? new Path(home, FILE) : draft;
    try {
      InputStream in = files.open(found);
      try {
        return (Map) MAPPER.readValue(in, LinkedHashMap.class);
      } finally {
        in.close();
      }
    } catch (FileNotFoundException absent) {
      return null;
    }
  }

  private void keep(FileSystem files, Path home) throws IOException {
    Path draft = new Path(home, DRAFT);
    files.mkdirs(home);
    OutputStream out = files.create(draft, true);
    try {
      out.write(MAPPER.writeValueAsBytes(parts));
    } finally {
      out.close();
    }
    files.delete(new Path(home, FILE), false);
    if (!files.rename(draft, new Path(home, FILE))) throw new IOException("Cannot write " + new Path(home, FILE) + ", which says what the checkpoint is for.");
  }

  public StructType schema() { return new StructType().add("_none", DataTypes.LongType, true); }
  public String now() { return NONE; }
  public String next(String last, String now, boolean justStarted, boolean withoutLimit) { return null; }
  public boolean isFixedAtStart() { return false; }
  public InternalRow row(String value) { throw new UnsupportedOperationException("This source never has a row."); }
  public String toString() { return "what " + what + " is made of"; }
}
