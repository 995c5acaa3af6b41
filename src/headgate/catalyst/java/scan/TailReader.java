package headgate.scan;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;

/** Reads the ends of files in any store that Spark can reach, several at a time, into base64. */
public class TailReader {
  private final Configuration configuration;

  public TailReader(Configuration configuration) { this.configuration = configuration; }

  public List read(List paths, List sizes, List counts) throws Exception {
    List tails = new ArrayList();
    for (int i = 0; i < paths.size(); i++) {
      long size = ((Number) sizes.get(i)).longValue();
      int count = ((Number) counts.get(i)).intValue();
      tails.add(new Tail((String) paths.get(i), size, count));
    }
    return Parallel.results(tails);
  }

  private class Tail implements Callable {
    private final String path;
    private final long size;
    private final int count;

    Tail(String path, long size, int count) {
      this.path = path;
      this.size = size;
      this.count = count;
    }

    public Object call() {
      try {
        return read();
      } catch (Exception unreadable) {
        return null;
      }
    }

    private String read() throws Exception {
      Path file = new Path(path);
      byte[] tail = new byte[count];
      FSDataInputStream in = file.getFileSystem(configuration).open(file);
      try {
        in.readFully(size - count, tail);
      } finally {
        in.close();
      }
      return java.util.Base64.getEncoder().encodeToString(tail);
    }
  }
}
