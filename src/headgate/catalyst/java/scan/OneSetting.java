package headgate.scan;

import java.util.AbstractMap;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/** The settings of a session as they are at any time, but for one. */
public class OneSetting extends AbstractMap {
  private final Map settings;
  private final String key;
  private final String value;

  public OneSetting(Map settings, String key, String value) {
    this.settings = settings;
    this.key = key;
    this.value = value;
  }

  public Object get(Object wanted) { return key.equals(wanted) ? value : settings.get(wanted); }
  public boolean containsKey(Object wanted) { return key.equals(wanted) || settings.containsKey(wanted); }

  public Set entrySet() {
    synchronized (settings) {
      Map all = new HashMap(settings);
      all.put(key, value);
      return all.entrySet();
    }
  }
}
