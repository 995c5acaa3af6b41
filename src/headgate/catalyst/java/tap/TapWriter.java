package headgate.tap;

import com.fasterxml.jackson.databind.JsonNode;
import headgate.interop.Columns;
import headgate.interop.Json;
import headgate.interop.Seqs;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.JoinHint;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Puts a tap on one side of an inner join.
 *
 * The shuffle that the join needs is written out above the tap, so that it is sure to be there and to read its input to
 * the end; Spark adds no second one. The tapped side goes first: Spark starts the shuffles of a join from the left.
 */
public class TapWriter {
  private final SparkSession session;
  private final QueryTaps taps;

  public TapWriter(SparkSession session, QueryTaps taps) {
    this.session = session;
    this.taps = taps;
  }

  public LogicalPlan write(Join join, List children, JsonNode tap) {
    LogicalPlan left = (LogicalPlan) children.get(0);
    LogicalPlan right = (LogicalPlan) children.get(1);
    // a side that Spark would broadcast is not shuffled: then a tap would cost a shuffle
    if (isSmall(left) || isSmall(right)) return (LogicalPlan) join.withNewChildren(Seqs.of(children));
    boolean first = Json.field(tap, "side").asInt() == 0;
    LogicalPlan side = tapped(first ? left : right, tap);
    JoinHint hint = new JoinHint(first ? join.hint().leftHint() : join.hint().rightHint(), first ? join.hint().rightHint() : join.hint().leftHint());
    Join swapped = new Join(side, first ? right : left, join.joinType(), join.condition(), hint);
    return first ? (LogicalPlan) swapped : (LogicalPlan) new Project(join.output(), swapped);
  }

  private LogicalPlan tapped(LogicalPlan side, JsonNode tap) {
    JsonNode filters = Json.field(tap, "filters");
    LogicalPlan result = side;
    for (int i = 0; i < filters.size(); i++) {
      JsonNode filter = Json.item(filters, i);
      TapKeys keys = new TapKeys();
      session.sparkContext().register(keys, "headgate tap");
      taps.add(Json.field(filter, "id").asText(), keys);
      Tap test = new Tap(keys, Json.field(tap, "maxDistinct").asInt(), Json.field(tap, "maxBytes").asLong());
      result = new Filter(Tap.on(Columns.find(side, Json.field(filter, "column").asLong()), test), result);
    }
    List keys = new ArrayList();
    JsonNode listed = Json.field(tap, "keys");
    for (int i = 0; i < listed.size(); i++) keys.add((Expression) Columns.find(side, Json.item(listed, i).asLong()));
    return new RepartitionByExpression(Seqs.of(keys), result, scala.Option.empty(), scala.Option.empty());
  }

  private boolean isSmall(LogicalPlan side) {
    long limit = session.sessionState().conf().autoBroadcastJoinThreshold();
    return side.stats().sizeInBytes().compare(scala.math.BigInt$.MODULE$.apply(limit)) <= 0;
  }
}
