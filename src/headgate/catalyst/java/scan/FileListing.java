package headgate.scan;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.FileStatus;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.*;

/**
 * The files of a relation at one moment, numbered, with the partition values of each.
 *
 * All that is learned of a table at planning is learned from one such listing, and holds only as long as the relation's
 * own index still lists the same files.
 */
public class FileListing {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final scala.collection.immutable.Seq NO_FILTERS = (scala.collection.immutable.Seq) scala.collection.immutable.Nil$.MODULE$;
  public final FileIndex index;
  /** Each a PartitionDirectory. */
  public final List directories;
  public final List paths = new ArrayList();
  public final List lengths = new ArrayList();
  private final StructField[] columns;
  private final List statuses = new ArrayList();
  private final List stamps = new ArrayList();
  private Set known;
  private volatile boolean isCached = false;

  public FileListing(HadoopFsRelation relation) {
    index = relation.location();
    columns = relation.partitionSchema().fields();
    directories = listed();
    for (int d = 0; d < directories.size(); d++) {
      scala.collection.Iterator each = ((PartitionDirectory) directories.get(d)).files().iterator();
      while (each.hasNext()) {
        FileStatus status = ((FileStatusWithMetadata) each.next()).fileStatus();
        statuses.add(status);
        paths.add(status.getPath().toString());
        lengths.add(Long.valueOf(status.getLen()));
        stamps.add(FileStamp.of(status));
      }
    }
  }

  private List listed() {
    List found = new ArrayList();
    scala.collection.Iterator each = index.listFiles(NO_FILTERS, NO_FILTERS).iterator();
    while (each.hasNext()) found.add(each.next());
    return found;
  }

  /** Whether the index lists the same files as before, and each is still the same file. */
  public boolean isCurrent() {
    Map before = new HashMap();
    List now = listed();
    int files = 0;
    int at = 0;
    if (now.size() != directories.size()) return false;
    for (int d = 0; d < now.size(); d++) {
      PartitionDirectory directory = (PartitionDirectory) now.get(d);
      if (!directory.values().equals(((PartitionDirectory) directories.get(d)).values())) return false;
      scala.collection.Iterator each = directory.files().iterator();
      while (each.hasNext()) {
        FileStatus status = ((FileStatusWithMetadata) each.next()).fileStatus();
        files++;
        // an index that was not refreshed gives the very same objects in the same order
        if (at < statuses.size() && statuses.get(at) == status) {
          at++;
          continue;
        }
        if (before.isEmpty()) for (int i = 0; i < statuses.size(); i++) before.put(paths.get(i), statuses.get(i));
        FileStatus known = (FileStatus) before.get(status.getPath().toString());
        if (known == null || known.getLen() != status.getLen() || known.getModificationTime() != status.getModificationTime()) return false;
        at++;
      }
    }
    if (files != statuses.size()) return false;
    for (int i = 0; i < statuses.size(); i++) {
      if (!stamps.get(i).equals(FileStamp.of((FileStatus) statuses.get(i)))) return false;
    }
    return true;
  }

  String roots() { return index.rootPaths().mkString(", "); }

  /** Notes that cached rows come from these files: they were read when the rows were cached, which may be long ago. */
  void feedsCache() { isCached = true; }

  /** Whether cached rows that get lost would be the same again: no file was written over since it was listed. */
  boolean isAsCached() {
    for (int i = 0; isCached && i < statuses.size(); i++) if (!FileStamp.isAsListed((FileStatus) statuses.get(i))) return false;
    return true;
  }

  /** Whether a file was listed at planning. */
  public synchronized boolean knows(String path) {
    if (known == null) known = new HashSet(paths);
    return known.contains(path);
  }

  public byte[] toJson() throws Exception {
    List partitions = new ArrayList();
    List files = new ArrayList();
    int number = 0;
    for (int d = 0; d < directories.size(); d++) {
      PartitionDirectory directory = (PartitionDirectory) directories.get(d);
      partitions.add(values(directory.values(), columns));
      for (int i = 0; i < directory.files().size(); i++) files.add(file(number++, d));
    }
    List names = new ArrayList();
    for (int i = 0; i < columns.length; i++) {
      List entry = new ArrayList();
      entry.add(columns[i].name());
      entry.add(columns[i].dataType().catalogString());
      names.add(entry);
    }
    Map document = new LinkedHashMap();
    document.put("partitionColumns", names);
    document.put("partitions", partitions);
    document.put("files", files);
    return MAPPER.writeValueAsBytes(document);
  }

  private List file(int number, int partition) {
    List entry = new ArrayList();
    entry.add(Integer.valueOf(partition));
    entry.add(paths.get(number));
    entry.add(lengths.get(number));
    entry.add(Long.valueOf(((FileStatus) statuses.get(number)).getModificationTime()));
    entry.add(stamps.get(number));
    return entry;
  }

  /** Partition values in the form that domains use; null also stands for a type that no domain describes. */
  private static List values(InternalRow row, StructField[] columns) {
    List found = new ArrayList();
    for (int i = 0; i < columns.length; i++) {
      DataType type = columns[i].dataType();
      Object value = row.isNullAt(i) ? null : row.get(i, type);
      if (value == null) found.add(null);
      else if (type instanceof DecimalType) found.add(((Decimal) value).toJavaBigDecimal().toPlainString());
      else if (value instanceof Number || value instanceof Boolean) found.add(value);
      else if (type instanceof StringType) found.add(value.toString());
      else found.add("?");
    }
    return found;
  }
}
