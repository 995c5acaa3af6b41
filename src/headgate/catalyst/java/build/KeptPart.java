package headgate.build;

import java.util.List;
import org.apache.spark.Partition;

/** Some of the kept rows of a build side; they travel with the task that reads them. */
public class KeptPart implements Partition {
  private static final long serialVersionUID = 1L;
  private final int number;
  final List rows;

  public KeptPart(int number, List rows) {
    this.number = number;
    this.rows = rows;
  }

  public int index() { return number; }
  public int hashCode() { return number; }
  public boolean equals(Object other) { return other == this; }
  /** What the trait's own `equals` is called in bytecode; the compiler asks for it. */
  public boolean org$apache$spark$Partition$$super$equals(Object other) { return other == this; }
}
