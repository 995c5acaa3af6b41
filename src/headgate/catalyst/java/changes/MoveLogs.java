package headgate.changes;

import com.fasterxml.jackson.databind.ObjectMapper;
import headgate.interop.Handover;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;

/** What the operators of queries did in their last epochs, for the report: it outlives the queries, and leads to no plan. */
public class MoveLogs {
  private static final int QUERIES = 64;
  private static final ObjectMapper MAPPER = new ObjectMapper();
  private static final LinkedHashMap LOGS = new LinkedHashMap();  // query -> its OperatorLogs; the latest query last

  /** Remember an epoch of a vnode; `operator` is the number of its accumulator. */
  static void add(long operator, String name, EpochRecord record) {
    synchronized (LOGS) {
      List logs = (List) LOGS.remove(record.query);
      if (logs == null) logs = new ArrayList();
      LOGS.put(record.query, logs);
      if (LOGS.size() > QUERIES) LOGS.remove(LOGS.keySet().iterator().next());
      OperatorLog found = find(logs, operator, name, record.run);
      if (found == null) {
        found = new OperatorLog(name);
        logs.add(found);
      }
      found.operator = operator;
      found.add(record);
      Collections.sort(logs);
    }
  }

  /** The log of an operator; after a restart, the one of its name that the run before has left, if there is only one. */
  private static OperatorLog find(List logs, long operator, String name, String run) {
    OperatorLog left = null;
    int count = 0;
    for (int i = 0; i < logs.size(); i++) {
      OperatorLog log = (OperatorLog) logs.get(i);
      if (log.operator == operator) return log;
      if (!log.name.equals(name) || log.run.equals(run)) continue;
      left = log;
      count++;
    }
    return count == 1 ? left : null;
  }

  /** What the operators of a query did in its last epochs, operator by operator, as JSON. */
  public static String read(String query) throws Exception {
    List found = new ArrayList();
    synchronized (LOGS) {
      List logs = (List) LOGS.get(query);
      for (int i = 0; logs != null && i < logs.size(); i++) found.addAll(((OperatorLog) logs.get(i)).toMaps());
    }
    return Handover.of(MAPPER.writeValueAsBytes(found));
  }
}
