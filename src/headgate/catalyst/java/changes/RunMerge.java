package headgate.changes;

import java.util.List;
import java.util.PriorityQueue;
import org.apache.spark.sql.streaming.MapState;

/** The rows of several runs in a range, in order, each with the sum of its weights; rows that cancel out are left out. */
class RunMerge {
  private final PriorityQueue cursors = new PriorityQueue();
  int blocksRead;

  RunMerge(MapState blocks, List runs, byte[] low, byte[] high) {
    for (int i = 0; i < runs.size(); i++) push(new RunCursor(blocks, (Run) runs.get(i), low, high));
  }

  Weighted next() {
    while (!cursors.isEmpty()) {
      Weighted first = pop();
      while (!cursors.isEmpty() && first.sameRow(((RunCursor) cursors.peek()).row)) first.weight += pop().weight;
      if (first.weight != 0) return first;
    }
    return null;
  }

  private Weighted pop() {
    RunCursor cursor = (RunCursor) cursors.poll();
    Weighted row = cursor.row;
    push(cursor);
    return row;
  }

  private void push(RunCursor cursor) {
    int before = cursor.blocksRead;
    if (cursor.advance()) cursors.add(cursor);
    blocksRead += cursor.blocksRead - before;
  }
}
