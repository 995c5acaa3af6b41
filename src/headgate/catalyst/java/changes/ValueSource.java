package headgate.changes;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The streaming source of a value that moves; Python offers the value under an id, and reads a stream with it. */
public class ValueSource implements TableProvider {
  private static final ConcurrentHashMap OFFERED = new ConcurrentHashMap();

  public static void offer(String id, Object value) { OFFERED.put(id, value); }

  /** Forget an offer: the streams that were made of it hold the value themselves. */
  public static void withdraw(String id) { OFFERED.remove(id); }

  public StructType inferSchema(CaseInsensitiveStringMap options) { return offered(options).schema(); }

  public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
    return new ValueTable(offered(properties));
  }

  private static MovingValue offered(Map options) {
    Object value = OFFERED.get(options.get("id"));
    if (value == null) throw new IllegalArgumentException("No value is offered as " + options.get("id") + ": this source is for Headgate's own streams.");
    return (MovingValue) value;
  }
}
