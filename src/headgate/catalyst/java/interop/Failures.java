package headgate.interop;

import java.util.ArrayList;
import java.util.LinkedList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What went wrong in the JVM while plans were narrowed: the last failures as text, the first of them in the log. */
public class Failures {
  private static final Logger LOG = LoggerFactory.getLogger("headgate");
  private static final int MOST = 100;
  private static final int LONGEST = 500;
  private final LinkedList texts = new LinkedList();
  private boolean logged = false;

  public synchronized void note(String left, Throwable failure) {
    if (!logged) LOG.warn("Headgate left " + left + " unfiltered (later failures are only counted)", failure);
    logged = true;
    String text = failure.toString();
    texts.add(text.length() <= LONGEST ? text : text.substring(0, LONGEST));
    if (texts.size() > MOST) texts.removeFirst();
  }

  public synchronized List texts() { return new ArrayList(texts); }
}
