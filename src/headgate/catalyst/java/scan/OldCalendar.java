package headgate.scan;

/**
 * From when on a day or an instant in a Parquet file is surely the one that Spark reads: old writers used another calendar,
 * and Spark may move what they wrote.
 */
public class OldCalendar {
  private static final long MICROS_OF_A_DAY = 86400000000L;
  /** 1900-01-01; days are moved before 1582 only. */
  private static final long FIRST_SURE_DAY = -25567L;
  /**
   * 1900-01-03 in UTC. Instants are moved before 1900-01-01, the last of them to more than a day later (in Kiritimati). So
   * nothing that is moved comes to lie behind this one, and what is not behind it in a file is not so in Spark either.
   */
  private static final long FIRST_SURE_MICROS = (FIRST_SURE_DAY + 2L) * MICROS_OF_A_DAY;

  public static boolean isSureDay(long day) { return day >= FIRST_SURE_DAY; }
  public static boolean isSureTime(long micros) { return micros >= FIRST_SURE_MICROS; }
}
