package headgate.interop;

import java.util.ArrayList;
import java.util.LinkedList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What went wrong in the JVM while plans were narrowed: the last failures as text, by query, the first of them in the log. */
public class Failures {
  private static final Logger LOG = LoggerFactory.getLogger("headgate");
  private static final int MOST = 100;
  private static final int LONGEST = 500;
  private final LinkedList texts = new LinkedList();
  private final LinkedList numbers = new LinkedList();
  private boolean logged = false;

  /** number: of the query, or 0. */
  public synchronized void note(String left, Throwable failure, long number) {
    if (!logged) LOG.warn("Headgate left " + left + " unfiltered (later failures are only counted)", failure);
    logged = true;
    String text = failure.toString();
    texts.add(text.length() <= LONGEST ? text : text.substring(0, LONGEST));
    numbers.add(Long.valueOf(number));
    if (texts.size() <= MOST) return;
    texts.removeFirst();
    numbers.removeFirst();
  }

  public synchronized List texts() { return new ArrayList(texts); }

  /** What went wrong in one query. */
  public synchronized List of(long number) {
    List found = new ArrayList();
    for (int i = 0; i < texts.size(); i++) if (numbers.get(i).equals(Long.valueOf(number))) found.add(texts.get(i));
    return found;
  }
}
