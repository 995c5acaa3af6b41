package headgate.changes;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import headgate.interop.Json;
import java.io.IOException;
import org.apache.spark.sql.connector.read.streaming.Offset;

/** How often a value has moved, and the value itself, which so lies in Spark's offset log. */
class ValueOffset extends Offset {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  static final ValueOffset NONE = new ValueOffset(0L, null);
  final long moves;
  final String value;  // null before the first move

  ValueOffset(long moves, String value) {
    this.moves = moves;
    this.value = value;
  }

  static ValueOffset read(String json) {
    try {
      JsonNode node = MAPPER.readTree(json);
      JsonNode value = Json.field(node, "value");
      return new ValueOffset(Json.field(node, "moves").asLong(), value == null ? null : value.asText());
    } catch (IOException broken) {
      throw new IllegalStateException("The checkpoint has an offset that is not of this source: " + json, broken);
    }
  }

  public String json() {
    ObjectNode node = MAPPER.createObjectNode();
    node.put("moves", moves);
    if (value != null) node.put("value", value);
    return node.toString();
  }
}
