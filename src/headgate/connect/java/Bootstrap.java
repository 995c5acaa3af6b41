package headgateconnect;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.function.Function;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.classic.SparkSession;

/**
 * What a Connect client registers as a Java function. Its constructor runs on the server's driver, inside the client's session: it
 * takes a command from one setting of the session, and leaves the answer in another. Commands are those that `beside.py` knows.
 */
public class Bootstrap implements UDF1<String, String> {
  private static final String COMMAND = "spark.headgate.connect.command";
  private static final String ANSWER = "spark.headgate.connect.answer";
  /** By session: each jar that a session adds makes a new class loader, so this is kept where all of them look. */
  private static final String KEPT = "headgate.connect.beside.";

  public Bootstrap() {
    SparkSession session = (SparkSession) SparkSession.getActiveSession().get();
    String packed = session.conf().get(COMMAND, "");
    if (packed.length() == 0) return;
    // packed both ways: Spark hides settings whose text looks like a secret
    String command = new String(Base64.getDecoder().decode(packed), StandardCharsets.UTF_8);
    session.conf().unset(COMMAND);
    String answer;
    try {
      answer = answer(session, command);
    } catch (Throwable failure) {
      answer = "failed " + failure;
    }
    session.conf().set(ANSWER, Base64.getEncoder().encodeToString(answer.getBytes(StandardCharsets.UTF_8)));
  }

  private static String answer(SparkSession session, String command) throws Exception {
    String key = KEPT + session.sessionUUID();
    int space = command.indexOf(' ');
    String verb = space < 0 ? command : command.substring(0, space);
    Function running = (Function) System.getProperties().get(key);
    if (verb.equals("start")) {
      if (running != null && ((String) running.apply("ping")).equals("ok")) return "ok";
      Beside started = new Beside(session, command.substring(space + 1), key);
      String said = started.start();
      if (said.equals("ok")) System.getProperties().put(key, started);
      return said;
    }
    if (running == null) return "failed Headgate's process beside the server is gone; call headgate.enable(spark) again";
    return (String) running.apply(command);
  }

  public String call(String ignored) { return null; }
}
