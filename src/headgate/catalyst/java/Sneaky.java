package headgate;

/** Rethrows a Scala exception through Java code that does not declare it. */
public class Sneaky {
  public static void raise(Throwable failure) {
    org.apache.spark.unsafe.Platform.throwException(failure);
  }
}
