package headgate.format;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import org.apache.spark.sql.execution.datasources.FileIndex;

/** Whether ORC files store columns in the types that they are read as: the reader fails on a condition where they do not. */
public class OrcTypes {
  /** As many footers as are worth reading for it. */
  private static final int MOST = 256;

  public static boolean areThose(FileIndex index, Expression test) {
    String[] files = index.inputFiles();
    if (files.length > MOST) return false;
    try {
      Configuration conf = ((SparkSession) SparkSession$.MODULE$.active()).sessionState().newHadoopConf();
      for (int i = 0; i < files.length; i++) {
        Reader reader = OrcFile.createReader(new Path(new java.net.URI(files[i])), OrcFile.readerOptions(conf));
        boolean same = isSame(reader.getSchema(), test);
        reader.close();
        if (!same) return false;
      }
      return true;
    } catch (Exception unread) {
      return false;
    }
  }

  private static boolean isSame(TypeDescription file, Expression test) {
    scala.collection.Iterator each = test.references().iterator();
    while (each.hasNext()) {
      Attribute column = (Attribute) each.next();
      int place = file.getFieldNames() == null ? -1 : file.getFieldNames().indexOf(column.name());
      // a column of another name may still be found by its case or its place: that is for Spark to know
      if (place < 0) return false;
      if (!String.valueOf(file.getChildren().get(place)).equals(column.dataType().catalogString())) return false;
    }
    return true;
  }
}
