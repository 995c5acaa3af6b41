package headgate.changes;

import java.util.Arrays;

/** The promise that a value moves one way only, without which what was forgotten would be missing. */
class OneWay {
  static final String HELD = "held";

  static void check(MovingFilter filter, String before, byte[] committed, RightValue right) {
    if (filter.moves.equals("both") || filter.moves.equals(HELD) || committed == null) return;
    byte[] code = right.code();
    int way = code == null ? 0 : Arrays.compareUnsigned(code, committed);
    if (code != null && (filter.moves.equals("up") ? way >= 0 : way <= 0)) return;
    throw new IllegalStateException("The right side of " + filter.name + " went from " + before + " to " + right.text()
        + ", and moves=\"" + filter.moves + "\" was promised: rows that would count again are forgotten. Start the query without that promise and with a new checkpoint.");
  }
}
