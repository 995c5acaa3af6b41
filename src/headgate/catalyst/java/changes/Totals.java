package headgate.changes;

import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** The totals of each group: what they are made of, and the type of the row that they make. */
class Totals implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  final Total[] each;
  final DataType[] inputs;
  final boolean[] ordered;  // inputs whose values are kept, for the least or the greatest
  final StructType row;
  final boolean global;  // one group, which is there even when it is empty
  final String text;

  Totals(Total[] each, DataType[] inputs, StructType row, boolean global, String text) {
    this.each = each;
    this.inputs = inputs;
    this.row = row;
    this.global = global;
    this.text = text;
    this.ordered = new boolean[inputs.length];
    for (int i = 0; i < each.length; i++) if (each[i].isExtreme()) ordered[each[i].input] = true;
  }
}
