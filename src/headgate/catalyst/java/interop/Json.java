package headgate.interop;

import com.fasterxml.jackson.databind.JsonNode;

/** Reaches into JSON with the types that the compiler needs to be told. */
public class Json {
  public static JsonNode item(JsonNode list, int i) { return (JsonNode) list.get(i); }
  public static JsonNode field(JsonNode object, String name) { return (JsonNode) object.get(name); }
}
