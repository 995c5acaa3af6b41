package headgate.changes;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Strings of bytes in a stream, with their length before them; null has the length -1. */
class Bytes {
  static void write(DataOutputStream out, byte[] bytes) throws IOException {
    out.writeInt(bytes == null ? -1 : bytes.length);
    if (bytes != null) out.write(bytes);
  }

  static void writeText(DataOutputStream out, String text) throws IOException { write(out, text.getBytes(StandardCharsets.UTF_8)); }
  static String readText(DataInputStream in) throws IOException { return new String(read(in), StandardCharsets.UTF_8); }

  static byte[] read(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0) return null;
    byte[] bytes = new byte[length];
    in.readFully(bytes);
    return bytes;
  }
}
