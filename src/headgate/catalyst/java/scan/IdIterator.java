package headgate.scan;

import java.util.Iterator;
import org.roaringbitmap.IntIterator;

/** The ids of a set, one after the other: those of each bitmap in order, then the others. */
class IdIterator implements Iterator {
  private final IdSet ids;
  private final long[] loose;
  private int bitmap = -1;
  private int at = 0;
  private IntIterator lows;

  IdIterator(IdSet ids) {
    this.ids = ids;
    this.loose = ids.looseIds();
  }

  public boolean hasNext() {
    while ((lows == null || !lows.hasNext()) && bitmap + 1 < ids.bitmaps()) lows = ids.bitmap(++bitmap).getIntIterator();
    return lows != null && lows.hasNext() || at < loose.length;
  }

  public Object next() {
    if (!hasNext()) throw new java.util.NoSuchElementException();
    return Long.valueOf(lows != null && lows.hasNext() ? IdSet.id(ids.high(bitmap), lows.next()) : loose[at++]);
  }

  public void remove() { throw new UnsupportedOperationException(); }
}
