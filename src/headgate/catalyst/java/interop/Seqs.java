package headgate.interop;

import java.util.List;

/** Turns Java lists into Scala sequences. */
public class Seqs {
  public static scala.collection.immutable.Seq of(List items) {
    return (scala.collection.immutable.Seq) scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
  }
}
