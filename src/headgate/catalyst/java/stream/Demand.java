package headgate.stream;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;

/**
 * What the operators above ask of the rows of one plan node.
 *
 * nothing: keep every row, for the reason given.
 * late: a row is dropped later if each of these expressions is at or below the watermark.
 * cut: a row is dropped later if this column is at or below the cut-off.
 */
public class Demand {
  public final String reason;
  public final List expressions;
  public final Attribute column;
  public final long cut;

  private Demand(String reason, List expressions, Attribute column, long cut) {
    this.reason = reason;
    this.expressions = expressions;
    this.column = column;
    this.cut = cut;
  }

  public static Demand nothing(String reason) { return new Demand(reason, null, null, 0L); }
  public static Demand late(List expressions) { return new Demand(null, expressions, null, 0L); }
  public static Demand cut(Attribute column, long cut) { return new Demand(null, null, column, cut); }
  public boolean isLate() { return expressions != null; }
  public boolean isCut() { return column != null; }
}
