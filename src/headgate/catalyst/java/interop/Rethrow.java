package headgate.interop;

/** Rethrows a Scala exception through Java code that does not declare it. */
public class Rethrow {
  public static void raise(Throwable failure) {
    org.apache.spark.unsafe.Platform.throwException(failure);
  }
}
