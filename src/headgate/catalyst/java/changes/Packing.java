package headgate.changes;

import headgate.interop.Seqs;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;

/** How rows become bytes on their way into an operator and rows again behind it, inside Spark's generated code. */
public class Packing {
  /** How many bytes each code of a type has: 0 where they differ, -1 where the type has no order that is known here. */
  public static int width(DataType type) { return OrderCode.width(type); }

  /** A change of the left side, of a struct (kind, value, key, row). */
  public static Column left(Column fields, StructType type) {
    return call(new Left(type.fields()[1].dataType(), (StructType) type.fields()[2].dataType(), (StructType) type.fields()[3].dataType()), fields, DataTypes.BinaryType);
  }

  /** A change of the right side, of a struct (kind, value, text, order). */
  public static Column right(Column fields, StructType type) {
    return call(new Right(type.fields()[1].dataType(), type.fields()[3].dataType()), fields, DataTypes.BinaryType);
  }

  /** A row of some columns, as bytes: the same bytes for the same values. */
  public static Column row(Column fields, StructType type) { return call(new Packed(type), fields, DataTypes.BinaryType); }

  /** The row that stands behind a code of a value of this type; without a type the bytes are the row. */
  public static Column unpacked(Column bytes, DataType value, StructType row) {
    return call(new Unpacked(value == null ? -1 : OrderCode.width(value), row.size()), bytes, row);
  }

  private static Column call(Function function, Column argument, DataType type) {
    List arguments = new ArrayList();
    arguments.add(ExpressionUtils.expression(argument));
    Expression target = new Literal(function, new ObjectType(Function.class));
    return ExpressionUtils.column(new Invoke(target, "apply", type, Seqs.of(arguments), Seqs.of(new ArrayList()), true, true, true));
  }

  /** Turns the rows of one type into bytes; each task has its own. */
  static class Packed implements Function, java.io.Serializable {
    private static final long serialVersionUID = 1L;
    private final StructType type;
    private transient UnsafeProjection projection;

    Packed(StructType type) { this.type = type; }

    public Object apply(Object row) {
      if (projection == null) projection = UnsafeProjection.create(type);
      return projection.apply((InternalRow) row).getBytes();
    }
  }

  static class Left implements Function, java.io.Serializable {
    private static final long serialVersionUID = 1L;
    private final DataType value;
    private final int keys;
    private final int columns;
    private final Packed key;
    private final Packed row;

    Left(DataType value, StructType key, StructType row) {
      this.value = value;
      this.keys = key.size();
      this.columns = row.size();
      this.key = new Packed(key);
      this.row = new Packed(row);
    }

    public Object apply(Object fields) {
      InternalRow all = (InternalRow) fields;
      byte[] code = all.isNullAt(1) ? OrderCode.any(value) : OrderCode.of(all.get(1, value), value);
      byte[] id = (byte[]) key.apply(all.getStruct(2, keys));
      byte[] whole = (byte[]) row.apply(all.getStruct(3, columns));
      ByteBuffer packed = ByteBuffer.allocate(5 + id.length + code.length + whole.length);
      return packed.put((byte) all.getInt(0)).putInt(id.length).put(id).put(code).put(whole).array();
    }
  }

  static class Right implements Function, java.io.Serializable {
    private static final long serialVersionUID = 1L;
    private final DataType value;
    private final DataType order;

    Right(DataType value, DataType order) {
      this.value = value;
      this.order = order;
    }

    public Object apply(Object fields) {
      InternalRow all = (InternalRow) fields;
      boolean present = !all.isNullAt(1);
      byte[] code = present ? OrderCode.of(all.get(1, value), value) : new byte[0];
      byte[] text = present ? all.getUTF8String(2).getBytes() : new byte[0];
      byte[] at = all.isNullAt(3) ? new byte[0] : OrderCode.of(all.get(3, order), order);
      int length = 5 + text.length + code.length;
      ByteBuffer packed = ByteBuffer.allocate(5 + length + at.length).put((byte) all.getInt(0)).putInt(length);
      return packed.put((byte) (present ? 1 : 0)).putInt(text.length).put(text).put(code).put(at).array();
    }
  }

  static class Unpacked implements Function, java.io.Serializable {
    private static final long serialVersionUID = 1L;
    private final int width;
    private final int columns;

    Unpacked(int width, int columns) {
      this.width = width;
      this.columns = columns;
    }

    public Object apply(Object bytes) {
      byte[] packed = (byte[]) bytes;
      int from = width < 0 ? 0 : OrderCode.end(packed, width);
      UnsafeRow row = new UnsafeRow(columns);
      row.pointTo(packed, Platform.BYTE_ARRAY_OFFSET + from, packed.length - from);
      return row;
    }
  }
}
