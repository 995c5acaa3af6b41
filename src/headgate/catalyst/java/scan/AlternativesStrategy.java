package headgate.scan;

import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.PlanLater;
import org.apache.spark.sql.execution.SparkStrategy;
import scala.collection.immutable.Seq;

/** Plans both ways of reading a scan; which of them runs is decided later. */
public class AlternativesStrategy extends SparkStrategy {
  /** Puts the strategy into a session that has none. */
  public static void install(SparkSession session) {
    Seq present = session.experimental().extraStrategies();
    List all = new ArrayList();
    scala.collection.Iterator each = present.iterator();
    while (each.hasNext()) {
      Object strategy = each.next();
      if (strategy instanceof AlternativesStrategy) return;
      all.add(strategy);
    }
    all.add(new AlternativesStrategy());
    session.experimental().extraStrategies_$eq(Seqs.of(all));
  }

  public Seq apply(LogicalPlan plan) {
    List found = new ArrayList();
    if (plan instanceof Alternatives) {
      Alternatives both = (Alternatives) plan;
      found.add(new AlternativesExec(both.snapshot, new PlanLater(both.told), new PlanLater(both.whole)));
    }
    return Seqs.of(found);
  }
}
