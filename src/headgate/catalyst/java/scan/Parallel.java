package headgate.scan;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Reads many files several at a time: stores answer slowly, and many at once. */
class Parallel {
  private static final int THREADS = 16;

  /** What the readers (each a Callable) return, in their order. */
  static List results(List readers) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(Math.max(1, Math.min(THREADS, readers.size())));
    try {
      List pending = new ArrayList();
      for (int i = 0; i < readers.size(); i++) pending.add(pool.submit((Callable) readers.get(i)));
      List found = new ArrayList();
      for (int i = 0; i < pending.size(); i++) found.add(((Future) pending.get(i)).get());
      return found;
    } finally {
      pool.shutdownNow();
    }
  }
}
