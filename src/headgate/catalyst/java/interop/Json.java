package headgate.interop;

import com.fasterxml.jackson.databind.JsonNode;

/** Reads JSON with explicit types, which the compiler needs. */
public class Json {
  public static JsonNode item(JsonNode list, int i) { return (JsonNode) list.get(i); }
  public static JsonNode field(JsonNode object, String name) { return (JsonNode) object.get(name); }
}
