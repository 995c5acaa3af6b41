package headgateconnect;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Headgate's Python beside a Connect server, for one session: started here, asked here, and ended with the session.
 *
 * When the session ends, Spark closes the jar of this class. What runs from then on must need no other class of it, and must not throw:
 * an error in a listener would stop the server.
 */
public class Beside extends SparkListener implements Function, Runnable {
  private static final long PATIENCE = 60L;
  private final SparkSession session;
  private final String connectId;
  private final String key;
  private final CountDownLatch ready = new CountDownLatch(1);
  private volatile scala.Function1 brain;
  private volatile boolean stopped;
  private Process process;
  private py4j.ClientServer gateway;
  private Path home;

  /** ``order`` is the id of the client's session and the name of the archive that it has sent, separated by a space. */
  Beside(SparkSession session, String order, String key) throws Exception {
    this.session = session;
    this.key = key;
    int space = order.indexOf(' ');
    this.connectId = order.substring(0, space);
    this.home = Files.createTempDirectory("headgate-connect-");
    unpack(session.artifactManager().artifactPath().resolve("pyfiles").resolve(order.substring(space + 1)).toFile());
  }

  // --- what Python asks for -------------------------------------------------------------------------------------------

  public SparkSession session() { return session; }
  public JavaSparkContext context() { return JavaSparkContext.fromSparkContext(session.sparkContext()); }

  /** The class loader of the server itself: results of tasks are resolved in it, and not in that of a session. */
  public ClassLoader loader() { return session.sharedState().jarClassLoader().getParent(); }

  public void ready(scala.Function1 answering) {
    brain = answering;
    ready.countDown();
  }

  // --- what the client asks for ---------------------------------------------------------------------------------------

  public Object apply(Object command) {
    if (stopped || process == null || !process.isAlive()) return "failed Headgate's process beside the server has ended: " + lastLine();
    return brain.apply(command);
  }

  String start() throws Exception {
    String secret = UUID.randomUUID().toString();
    py4j.ClientServer.ClientServerBuilder builder = new py4j.ClientServer.ClientServerBuilder(this);
    gateway = builder.authToken(secret).javaPort(0).javaAddress(InetAddress.getLoopbackAddress()).build();
    gateway.startServer(true);
    ProcessBuilder python = new ProcessBuilder(new String[] {pythonOf(), "-u", "-m", "headgate_start"});
    Map environment = python.environment();
    Iterator names = environment.keySet().iterator();
    while (names.hasNext()) {
      String name = (String) names.next();
      if (name.startsWith("SPARK_CONNECT") || name.equals("SPARK_REMOTE") || name.equals("SPARK_LOCAL_REMOTE")) names.remove();
    }
    String more = (String) environment.get("PYTHONPATH");
    String path = home + File.pathSeparator + org.apache.spark.api.python.PythonUtils.sparkPythonPath();
    environment.put("PYTHONPATH", more == null ? path : path + File.pathSeparator + more);
    environment.put("PYSPARK_GATEWAY_PORT", String.valueOf(gateway.getJavaServer().getListeningPort()));
    environment.put("PYSPARK_GATEWAY_SECRET", secret);
    environment.put("PYTHONDONTWRITEBYTECODE", "1");
    python.redirectErrorStream(true).redirectOutput(log());
    try {
      process = python.start();
    } catch (java.io.IOException missing) {
      stop();
      return "failed the server has no Python to run Headgate with (" + pythonOf() + "); set spark.headgate.connect.python to one";
    }
    session.sparkContext().addSparkListener(this);
    long deadline = System.nanoTime() + PATIENCE * 1000000000L;
    while (!ready.await(50L, TimeUnit.MILLISECONDS)) {
      if (process.isAlive() && System.nanoTime() < deadline) continue;
      String said = lastLine();
      stop();
      return "failed " + said;
    }
    return "ok";
  }

  private String pythonOf() {
    String own = System.getenv("PYSPARK_PYTHON");
    String workers = session.conf().get("spark.pyspark.python", own == null ? "python3" : own);
    return session.conf().get("spark.headgate.connect.python", workers);
  }

  private File log() { return home.resolve("python.log").toFile(); }

  /** What Python said last, which is why it ended. */
  private String lastLine() {
    try {
      List lines = Files.readAllLines(log().toPath());
      for (int i = lines.size() - 1; i >= 0; i--) if (((String) lines.get(i)).trim().length() > 0) return ((String) lines.get(i)).trim();
    } catch (Exception unread) {
      return "it left no word";
    }
    return "it left no word";
  }

  // --- the end --------------------------------------------------------------------------------------------------------

  /** The class of the event is of the Connect server, which a driver without one does not have: it is known by its name. */
  public void onOtherEvent(SparkListenerEvent event) {
    if (!event.getClass().getSimpleName().equals("SparkListenerConnectSessionClosed")) return;
    try {
      Object id = event.getClass().getMethod("sessionId", new Class[0]).invoke(event, new Object[0]);
      if (connectId.equals(id)) stop();
    } catch (Throwable unknown) {
      return;
    }
  }

  public void onApplicationEnd(SparkListenerApplicationEnd end) { stop(); }

  /** Python ends when its standard input does. What waits for it runs in a thread of its own: listeners must not wait. */
  synchronized void stop() {
    if (stopped) return;
    stopped = true;
    System.getProperties().remove(key);
    new Thread(this).start();
  }

  public void run() {
    try {
      session.sparkContext().removeSparkListener(this);
      if (process != null) {
        process.getOutputStream().close();
        if (!process.waitFor(10L, TimeUnit.SECONDS)) process.destroyForcibly();
      }
      gateway.shutdown();
      remove(home.toFile());
    } catch (Throwable gone) {
      if (process != null) process.destroyForcibly();
    }
  }

  private static void remove(File file) {
    File[] inside = file.listFiles();
    if (inside != null) for (int i = 0; i < inside.length; i++) remove(inside[i]);
    file.delete();
  }

  private void unpack(File archive) throws Exception {
    ZipInputStream zip = new ZipInputStream(new FileInputStream(archive));
    try {
      for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
        Path target = home.resolve(entry.getName()).normalize();
        if (!target.startsWith(home)) throw new IllegalStateException("the archive has a file outside of it: " + entry.getName());
        Files.createDirectories(target.getParent(), new java.nio.file.attribute.FileAttribute[0]);
        if (!entry.isDirectory()) copy(zip, target.toFile());
      }
    } finally {
      zip.close();
    }
  }

  private static void copy(InputStream from, File to) throws Exception {
    OutputStream out = new FileOutputStream(to);
    try {
      byte[] part = new byte[65536];
      for (int read = from.read(part); read >= 0; read = from.read(part)) out.write(part, 0, read);
    } finally {
      out.close();
    }
  }
}
