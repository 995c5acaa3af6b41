package headgate.interop;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.file.Files;
import java.util.Base64;
import java.util.zip.GZIPOutputStream;

/**
 * Hands bytes to Python. A reply of more than one socket buffer stalls for 40 ms (Nagle's algorithm against delayed
 * acknowledgement), so small ones are packed to fit one, and large ones go through a file.
 */
public class Handover {
  private static final int ONE_BUFFER = 6000;

  public static String of(byte[] body) throws Exception {
    if (body.length < 64 * ONE_BUFFER) {
      ByteArrayOutputStream packed = new ByteArrayOutputStream();
      GZIPOutputStream out = new GZIPOutputStream(packed);
      out.write(body);
      out.close();
      String text = Base64.getEncoder().encodeToString(packed.toByteArray());
      if (text.length() <= ONE_BUFFER) return "packed:" + text;
    }
    File file = File.createTempFile("headgate-", ".bin");
    Files.write(file.toPath(), body);
    return "file:" + file.getAbsolutePath();
  }
}
