package headgate.interop;

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** What plans are made of, where Spark has it for Scala only. */
public class Trees {
  /** The leaf below a plan: the first, where there are several. */
  public static LogicalPlan leaf(LogicalPlan plan) {
    LogicalPlan below = plan;
    while (!below.children().isEmpty()) below = (LogicalPlan) below.children().head();
    return below;
  }

  /** The fields of a node, as `makeCopy` takes them. */
  public static Object[] fields(LogicalPlan plan) {
    Object[] found = new Object[plan.productArity()];
    for (int i = 0; i < found.length; i++) found[i] = plan.productElement(i);
    return found;
  }
}
