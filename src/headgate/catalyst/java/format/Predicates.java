package headgate.format;

import com.fasterxml.jackson.databind.JsonNode;
import headgate.interop.Json;
import headgate.interop.Seqs;
import headgate.scan.BitTest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Turns a domain (JSON) into a Catalyst predicate on one column.
 *
 * {"ranges": [[low, high], ...]} with null for an open end, {"values": [...]} or {"bitmap": base64 of a roaring bitmap, "width": 64 or not given},
 * and {"null": true} where NULL passes. Numbers are in Spark's internal form; binary is base64.
 */
public class Predicates {
  public static Expression of(Attribute column, JsonNode domain) {
    Expression test = null;
    if (domain.has("values")) test = among(column, Json.field(domain, "values"));
    if (domain.has("bitmap")) test = and(test, bits(column, domain));
    if (domain.has("ranges")) test = and(test, ranges(column, Json.field(domain, "ranges")));
    if (test == null) test = Literal$.MODULE$.TrueLiteral();
    boolean withNull = domain.has("null") && Json.field(domain, "null").asBoolean();
    return withNull ? new Or(new IsNull(column), test) : test;
  }

  private static Expression bits(Attribute column, JsonNode domain) {
    byte[] packed = java.util.Base64.getDecoder().decode(Json.field(domain, "bitmap").asText());
    return BitTest.on(column, packed, domain.has("width") ? Json.field(domain, "width").asInt() : 32);
  }

  private static Expression and(Expression a, Expression b) { return a == null ? b : new And(b, a); }

  private static Expression among(Attribute column, JsonNode values) {
    if (values.size() == 0) return Literal$.MODULE$.FalseLiteral();
    if (values.size() == 1) return new EqualTo(column, literal(column.dataType(), Json.item(values, 0)));
    HashSet set = new HashSet();
    List literals = new ArrayList();
    for (int i = 0; i < values.size(); i++) {
      if (values.size() <= 10) literals.add(literal(column.dataType(), Json.item(values, i)));
      else set.add(internal(column.dataType(), Json.item(values, i)));
    }
    if (values.size() <= 10) return new In(column, Seqs.of(literals));
    return new InSet(column, (scala.collection.immutable.Set) scala.jdk.javaapi.CollectionConverters.asScala(set).toSet());
  }

  private static Expression ranges(Attribute column, JsonNode ranges) {
    List each = new ArrayList();
    for (int i = 0; i < ranges.size(); i++) each.add(range(column, Json.item(Json.item(ranges, i), 0), Json.item(Json.item(ranges, i), 1)));
    return each.isEmpty() ? Literal$.MODULE$.FalseLiteral() : anyOf(each);
  }

  /** As a balanced tree: some sources walk conditions recursively, and a chain of many would overflow their stack. */
  private static Expression anyOf(List parts) {
    int half = parts.size() / 2;
    return half == 0 ? (Expression) parts.get(0) : new Or(anyOf(parts.subList(0, half)), anyOf(parts.subList(half, parts.size())));
  }

  private static Expression range(Attribute column, JsonNode low, JsonNode high) {
    if (low.equals(high) && !low.isNull()) return new EqualTo(column, literal(column.dataType(), low));
    Expression test = null;
    if (!low.isNull()) test = new GreaterThanOrEqual(column, literal(column.dataType(), low));
    if (!high.isNull()) {
      Expression above = new LessThanOrEqual(column, literal(column.dataType(), high));
      test = test == null ? above : new And(test, above);
    }
    return test == null ? new IsNotNull(column) : test;
  }

  private static Literal literal(DataType type, JsonNode value) { return new Literal(internal(type, value), type); }

  private static Object internal(DataType type, JsonNode value) {
    if (type instanceof BooleanType) return Boolean.valueOf(value.asBoolean());
    if (type instanceof ByteType) return Byte.valueOf((byte) value.asInt());
    if (type instanceof ShortType) return Short.valueOf((short) value.asInt());
    if (type instanceof IntegerType || type instanceof DateType) return Integer.valueOf(value.asInt());
    if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) return Long.valueOf(value.asLong());
    if (type instanceof FloatType) return Float.valueOf(Float.parseFloat(value.asText()));
    if (type instanceof DoubleType) return Double.valueOf(Double.parseDouble(value.asText()));
    if (type instanceof StringType) return UTF8String.fromString(value.asText());
    if (type instanceof BinaryType) return java.util.Base64.getDecoder().decode(value.asText());
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return Decimal$.MODULE$.apply(new java.math.BigDecimal(value.asText()), decimal.precision(), decimal.scale());
    }
    throw new IllegalArgumentException("no literal of " + type.catalogString());
  }
}
