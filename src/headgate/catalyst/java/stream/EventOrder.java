package headgate.stream;

import headgate.interop.Seqs;
import headgate.interop.SparkVersion;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.*;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.CalendarInterval;

/**
 * Turns "each of these expressions of the event time is late" into one cut-off on the event time itself.
 *
 * The expression is Spark's own, evaluated as it stands; nothing about windows is computed here. Only its shape is
 * read, to show that it never falls while the event time rises. Then the event times that are late are exactly those
 * up to one value, and bisection finds it.
 */
public class EventOrder {
  /** Further back than any event time, near enough for window arithmetic not to overflow. */
  private static final long REACH = 1L << 58;

  /** The largest late event time in microseconds, at most the watermark; null where the order cannot be shown. */
  public static Long cut(List expressions, Attribute time, long watermark) {
    Expression[] bound = new Expression[expressions.size()];
    for (int i = 0; i < bound.length; i++) {
      Expression expression = (Expression) expressions.get(i);
      Shape shape = shape(expression, time);
      if (shape == null || !shape.rises()) return null;
      bound[i] = bind(expression, time);
    }
    if (isLate(bound, watermark, watermark)) return Long.valueOf(watermark);
    long late = watermark - REACH;
    if (!isLate(bound, late, watermark)) return null;
    long open = watermark;
    while (open - late > 1L) {
      long middle = late + (open - late) / 2L;
      if (isLate(bound, middle, watermark)) late = middle;
      else open = middle;
    }
    return Long.valueOf(late);
  }

  private static boolean isLate(Expression[] bound, long time, long watermark) {
    InternalRow row = new GenericInternalRow(new Object[] {Long.valueOf(time)});
    for (int i = 0; i < bound.length; i++) {
      Object value = bound[i].eval(row);
      if (value == null || ((Long) value).longValue() > watermark) return false;
    }
    return true;
  }

  private static Expression bind(Expression expression, Attribute time) {
    if (expression instanceof Attribute) return new BoundReference(0, time.dataType(), true);
    java.util.List children = new java.util.ArrayList();
    scala.collection.Iterator each = expression.children().iterator();
    while (each.hasNext()) children.add(bind((Expression) each.next(), time));
    return children.isEmpty() ? expression : (Expression) expression.withNewChildren(Seqs.of(children));
  }

  /** What is known of an expression of the event time t, with whole numbers a and d. */
  private static class Shape {
    static final int CONSTANT = 0;   // a
    static final int SHIFTED = 1;    // t + a
    static final int REMAINDER = 2;  // (t + a) % d, with the sign of t + a
    static final int LIFTED = 3;     // the same + d
    static final int NEGATIVE = 4;   // whether the remainder is below 0
    static final int MODULO = 5;     // the remainder, from 0 to d - 1
    static final int STEPS = 6;      // t - MODULO + any constant: rises by d at a time
    final int kind;
    final long a;
    final long d;

    Shape(int kind, long a, long d) {
      this.kind = kind;
      this.a = a;
      this.d = d;
    }

    boolean rises() { return kind == SHIFTED || kind == STEPS; }
    boolean is(int wanted, Shape like) { return kind == wanted && a == like.a && d == like.d; }
  }

  private static Shape shape(Expression e, Attribute time) {
    if (e instanceof Attribute) return ((Attribute) e).exprId().equals(time.exprId()) ? new Shape(Shape.SHIFTED, 0L, 0L) : null;
    if (e instanceof Literal) {
      Object value = ((Literal) e).value();
      return value instanceof Long || value instanceof Integer ? new Shape(Shape.CONSTANT, ((Number) value).longValue(), 0L) : null;
    }
    if (e instanceof PreciseTimestampConversion) return shape((Expression) ((PreciseTimestampConversion) e).child(), time);
    if (e instanceof KnownNullable) return shape((Expression) ((KnownNullable) e).child(), time);
    if (e instanceof GetStructField) return field((GetStructField) e, time);
    if (e instanceof Add) return sum(shape((Expression) ((Add) e).left(), time), shape((Expression) ((Add) e).right(), time));
    if (e instanceof Subtract) return difference(shape((Expression) ((Subtract) e).left(), time), shape((Expression) ((Subtract) e).right(), time));
    if (e instanceof Remainder) return remainder(shape((Expression) ((Remainder) e).left(), time), shape((Expression) ((Remainder) e).right(), time));
    if (e instanceof LessThan) return negative(shape((Expression) ((LessThan) e).left(), time), shape((Expression) ((LessThan) e).right(), time));
    if (e instanceof CaseWhen) return choice((CaseWhen) e, time);
    if (e instanceof If) {
      If choice = (If) e;
      return modulo(shape((Expression) choice.predicate(), time), shape((Expression) choice.trueValue(), time), shape((Expression) choice.falseValue(), time));
    }
    if (SparkVersion.isTimestampAdd(e)) return later((BinaryExpression) e, time);
    return null;
  }

  private static Shape field(GetStructField e, Attribute time) {
    Expression struct = (Expression) e.child();
    if (struct instanceof KnownNullable) struct = (Expression) ((KnownNullable) struct).child();
    if (!(struct instanceof CreateNamedStruct)) return null;
    return shape((Expression) ((CreateNamedStruct) struct).valExprs().apply(e.ordinal()), time);
  }

  private static Shape sum(Shape left, Shape right) {
    if (left == null || right == null) return null;
    if (left.kind == Shape.CONSTANT && right.kind != Shape.CONSTANT) return sum(right, left);
    if (right.kind != Shape.CONSTANT) return null;
    if (left.kind == Shape.REMAINDER && right.a == left.d) return new Shape(Shape.LIFTED, left.a, left.d);
    if (left.kind == Shape.CONSTANT || left.rises()) return new Shape(left.kind, Math.addExact(left.a, right.a), left.d);
    return null;
  }

  private static Shape difference(Shape left, Shape right) {
    if (left == null || right == null) return null;
    if (right.kind == Shape.CONSTANT && (left.kind == Shape.CONSTANT || left.rises())) {
      return new Shape(left.kind, Math.subtractExact(left.a, right.a), left.d);
    }
    return left.kind == Shape.SHIFTED && right.kind == Shape.MODULO ? new Shape(Shape.STEPS, left.a, right.d) : null;
  }

  private static Shape remainder(Shape left, Shape right) {
    if (left == null || right == null || left.kind != Shape.SHIFTED || right.kind != Shape.CONSTANT || right.a <= 0L) return null;
    return new Shape(Shape.REMAINDER, left.a, right.a);
  }

  private static Shape negative(Shape left, Shape right) {
    if (left == null || right == null || left.kind != Shape.REMAINDER || right.kind != Shape.CONSTANT || right.a != 0L) return null;
    return new Shape(Shape.NEGATIVE, left.a, left.d);
  }

  private static Shape choice(CaseWhen e, Attribute time) {
    if (e.branches().size() != 1 || !e.elseValue().isDefined()) return null;
    scala.Tuple2 branch = (scala.Tuple2) e.branches().apply(0);
    return modulo(shape((Expression) branch._1(), time), shape((Expression) branch._2(), time), shape((Expression) e.elseValue().get(), time));
  }

  private static Shape modulo(Shape when, Shape then, Shape otherwise) {
    if (when == null || then == null || otherwise == null || when.kind != Shape.NEGATIVE) return null;
    return then.is(Shape.LIFTED, when) && otherwise.is(Shape.REMAINDER, when) ? new Shape(Shape.MODULO, when.a, when.d) : null;
  }

  /** A day can be 23 hours long where the zone has summer time, and then adding one does not keep the order. */
  private static Shape later(BinaryExpression e, Attribute time) {
    Shape start = shape((Expression) e.left(), time);
    Object gap = e.right() instanceof Literal ? ((Literal) e.right()).value() : null;
    if (start == null || !start.rises() || !(gap instanceof CalendarInterval)) return null;
    CalendarInterval interval = (CalendarInterval) gap;
    boolean even = e.dataType() instanceof TimestampNTZType || ((TimeZoneAwareExpression) e).zoneId().getRules().isFixedOffset();
    if (interval.months != 0 || (interval.days != 0 && !even)) return null;
    return new Shape(start.kind, Math.addExact(start.a, interval.days * 86400000000L + interval.microseconds), start.d);
  }

  public static boolean isTime(Attribute column) {
    return column.dataType() instanceof TimestampType || column.dataType() instanceof TimestampNTZType;
  }
}
