package headgate.changes;

/** A time that is set by hand, in microseconds since 1970. */
public class ClockHand {
  private volatile long micros;

  public ClockHand(long micros) { this.micros = micros; }

  public void set(long micros) { this.micros = micros; }
  long get() { return micros; }
}
