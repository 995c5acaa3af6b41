package headgate.plan;

import org.apache.spark.internal.config.ConfigBuilder;
import org.apache.spark.sql.internal.SQLConf$;

/** Tells Spark which values a setting takes, so that SET refuses the others by itself. */
public class SettingCheck extends scala.runtime.AbstractFunction1 {
  private final java.util.regex.Pattern pattern;

  public SettingCheck(String pattern) { this.pattern = java.util.regex.Pattern.compile(pattern); }

  public Object apply(Object text) { return Boolean.valueOf(pattern.matcher((String) text).matches()); }

  public static synchronized void declare(String key, String pattern, String allowed, String standard) {
    if (SQLConf$.MODULE$.containsConfigKey(key)) return;
    ConfigBuilder builder = SQLConf$.MODULE$.buildConf(key);
    builder.doc("Headgate: takes " + allowed).version("headgate 0.1").stringConf()
        .checkValue(new SettingCheck(pattern), "it takes " + allowed).createWithDefault(standard);
  }
}
