package headgate.changes;

/** What one operator did in one epoch: numbers, and the value before and after. */
class EpochRecord implements java.io.Serializable {
  private static final long serialVersionUID = 1L;
  final String query;
  final long batch;
  String before = "none";
  String after = "none";
  long leftRows;
  long movedIn;
  long movedOut;
  long rowsKept;
  long blocksRead;
  long scanNanos;
  long vnodesPending;

  EpochRecord(String query, long batch) {
    this.query = query;
    this.batch = batch;
  }

  void add(EpochRecord other) {
    before = other.before;
    after = other.after;
    leftRows += other.leftRows;
    movedIn += other.movedIn;
    movedOut += other.movedOut;
    rowsKept += other.rowsKept;
    blocksRead += other.blocksRead;
    scanNanos += other.scanNanos;
    vnodesPending += other.vnodesPending;
  }

  EpochRecord copied() {
    EpochRecord twin = new EpochRecord(query, batch);
    twin.add(this);
    return twin;
  }
}
