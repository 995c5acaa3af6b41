package headgate;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.types.*;

/** The files of a relation, numbered, with the partition values of each: what the relation's own index holds already. */
public class FileListing {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  public final HadoopFsRelation relation;
  public final List paths = new ArrayList();
  public final List lengths = new ArrayList();
  private final Map document = new LinkedHashMap();

  public FileListing(LogicalRelation plan) {
    relation = (HadoopFsRelation) plan.relation();
    StructField[] columns = relation.partitionSchema().fields();
    List partitions = new ArrayList();
    List files = new ArrayList();
    scala.collection.immutable.Seq none = (scala.collection.immutable.Seq) scala.collection.immutable.Nil$.MODULE$;
    scala.collection.Iterator directories = relation.location().listFiles(none, none).iterator();
    while (directories.hasNext()) {
      PartitionDirectory directory = (PartitionDirectory) directories.next();
      Integer partition = Integer.valueOf(partitions.size());
      partitions.add(values(directory.values(), columns));
      scala.collection.Iterator each = directory.files().iterator();
      while (each.hasNext()) files.add(file((FileStatusWithMetadata) each.next(), partition));
    }
    List names = new ArrayList();
    for (int i = 0; i < columns.length; i++) {
      List entry = new ArrayList();
      entry.add(columns[i].name());
      entry.add(columns[i].dataType().catalogString());
      names.add(entry);
    }
    document.put("partitionColumns", names);
    document.put("partitions", partitions);
    document.put("files", files);
  }

  private List file(FileStatusWithMetadata status, Integer partition) {
    String path = status.getPath().toString();
    paths.add(path);
    lengths.add(Long.valueOf(status.getLen()));
    List entry = new ArrayList();
    entry.add(partition);
    entry.add(path);
    entry.add(Long.valueOf(status.getLen()));
    entry.add(Long.valueOf(status.getModificationTime()));
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

  public byte[] toJson() throws Exception { return MAPPER.writeValueAsBytes(document); }
}
