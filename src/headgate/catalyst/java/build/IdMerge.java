package headgate.build;

import org.apache.spark.api.java.function.Function2;

/** Unites what two tasks packed, in the cluster: where there are many tasks, the driver is spared most of their results. */
public class IdMerge implements Function2 {
  private static final long serialVersionUID = 1L;
  private final long maxIds;
  private final long maxBytes;

  public IdMerge(long maxIds, long maxBytes) {
    this.maxIds = maxIds;
    this.maxBytes = maxBytes;
  }

  public Object call(Object one, Object other) throws java.io.IOException {
    TaggedIds both = new TaggedIds();
    // what is too much already stays as it is: it only tells how far things got
    if (!both.take((byte[]) one)) return one;
    if (!both.take((byte[]) other)) return other;
    return both.packed(!both.passes(maxIds, maxBytes));
  }
}
