package headgate.scan;

import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Paths;
import java.nio.file.attribute.FileTime;
import java.util.Map;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;

/**
 * What distinguishes a file from another one of the same path, size and modification time, where the store says it.
 *
 * A local file has its inode and the time of its last change, which no tool can set; an object store has an entity tag.
 */
public class FileStamp {
  private static final LinkOption[] FOLLOW = new LinkOption[0];

  /** Whether a local file has the size and the time that a listing gives; what a store says of others is not asked again. */
  static boolean isAsListed(FileStatus status) {
    java.net.URI uri = status.getPath().toUri();
    if (status instanceof EtagSource || uri.getScheme() != null && !"file".equals(uri.getScheme())) return true;
    java.io.File file = new java.io.File(uri.getPath());
    return file.length() == status.getLen() && file.lastModified() == status.getModificationTime();
  }

  /** The stamp that a listing carries or that the file has now; empty where the store offers none. */
  public static String of(FileStatus status) {
    if (status instanceof EtagSource) {
      String tag = ((EtagSource) status).getEtag();
      return tag == null ? "" : tag;
    }
    java.net.URI uri = status.getPath().toUri();
    if (uri.getScheme() != null && !"file".equals(uri.getScheme())) return "";
    try {
      Map found = Files.readAttributes(Paths.get(uri.getPath(), new String[0]), "unix:ino,ctime", FOLLOW);
      java.time.Instant changed = ((FileTime) found.get("ctime")).toInstant();
      return found.get("ino") + ":" + (changed.getEpochSecond() * 1000000000L + changed.getNano());
    } catch (Exception unknown) {
      return "";
    }
  }
}
