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

  public String toString() { return operator; }
}
