package headgate.scan;

import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;

/** Finds a column in a row group of a Parquet file. */
public class ColumnChunks {
  /** The chunk of a column as Spark finds it: by its name as it is, or in any case where case does not count; else null. */
  public static ColumnChunkMetaData find(BlockMetaData group, String column, boolean byCase) {
    ColumnChunkMetaData found = null;
    java.util.Iterator each = group.getColumns().iterator();
    while (each.hasNext()) {
      ColumnChunkMetaData chunk = (ColumnChunkMetaData) each.next();
      String[] path = chunk.getPath().toArray();
      // a field of a struct has a longer path, whatever dots a name may hold
      if (path.length != 1 || !(byCase ? path[0].equals(column) : path[0].equalsIgnoreCase(column))) continue;
      if (found != null) return null;
      found = chunk;
    }
    return found;
  }
}
