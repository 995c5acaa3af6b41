package headgate.changes;

/** Which rows pass, as ranges of what is stored: an operator, and the code of the right value. */
class Comparison implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  private final String operator;

  Comparison(String operator) { this.operator = operator; }

  /** What passes; without a value nothing does. */
  Ranges passing(byte[] code) {
    if (code == null) return Ranges.NONE;
    byte[] after = OrderCode.after(code);
    Ranges below = Ranges.of(Ranges.LOWEST, code);
    Ranges equal = Ranges.of(code, after);
    if (operator.equals("<")) return below;
    if (operator.equals("<=")) return below.or(equal);
    if (operator.equals("=")) return equal;
    if (operator.equals("<>")) return equal.complement();
    if (operator.equals(">=")) return below.complement();
    return below.or(equal).complement();
  }

  /** What can never change sides again when the value only rises, or only falls. */
  Ranges settled(byte[] code, boolean rising) {
    if (code == null) return Ranges.NONE;
    boolean equalSettles = operator.equals(rising ? ">" : ">=") || operator.equals(rising ? "<=" : "<");
    Ranges below = Ranges.of(Ranges.LOWEST, code);
    Ranges equal = Ranges.of(code, OrderCode.after(code));
    Ranges beyond = rising ? below : below.or(equal).complement();
    return equalSettles ? beyond.or(equal) : beyond;
  }

  /** The highest number that never passes again when the value only rises; null where there is none. */
  Long neverAgain(byte[] code) {
    if (code == null || code.length != 8) return null;
    long value = java.nio.ByteBuffer.wrap(code).getLong() ^ Long.MIN_VALUE;
    if (operator.equals(">")) return Long.valueOf(value);
    boolean below = operator.equals(">=") || operator.equals("=");
    return below && value > Long.MIN_VALUE ? Long.valueOf(value - 1L) : null;
  }

  public String toString() { return operator; }
}
