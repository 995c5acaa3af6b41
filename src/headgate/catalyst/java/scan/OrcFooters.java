package headgate.scan;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.orc.BooleanColumnStatistics;
import org.apache.orc.ColumnStatistics;
import org.apache.orc.DateColumnStatistics;
import org.apache.orc.DecimalColumnStatistics;
import org.apache.orc.IntegerColumnStatistics;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.StringColumnStatistics;
import org.apache.orc.StripeInformation;
import org.apache.orc.StripeStatistics;
import org.apache.orc.TypeDescription;

/**
 * What ORC files say of some columns: stripe by stripe where they have statistics of stripes, else of the file.
 *
 * A file is believed only where it is sure to mean what Spark will read: a column that Spark finds by its name, stored in
 * the very type that it is read as. Of other columns, of floats and of times nothing is known.
 */
public class OrcFooters {
  private static final ObjectMapper MAPPER = new ObjectMapper();
  /** The columns of files with deleted and changed rows, whose own columns lie inside of the last. */
  private static final List EVENTS =
      Arrays.asList(new Object[] {"operation", "originaltransaction", "bucket", "rowid", "currenttransaction", "row"});
  private final Configuration configuration;
  private final List names;
  private final List types;
  private final boolean caseSensitive;

  /** names, types: the columns, with the types that Spark reads them as. */
  public OrcFooters(Configuration configuration, List names, List types, boolean caseSensitive) {
    this.configuration = configuration;
    this.names = names;
    this.types = types;
    this.caseSensitive = caseSensitive;
  }

  /** The files in order as JSON (`OrcFooters` of catalyst/wire.py); null stands for one that cannot be read. */
  public byte[] read(List paths, List sizes) throws Exception {
    List footers = new ArrayList();
    for (int i = 0; i < paths.size(); i++) footers.add(new One((String) paths.get(i), ((Number) sizes.get(i)).longValue()));
    Map document = new LinkedHashMap();
    document.put("files", Parallel.results(footers));
    return MAPPER.writeValueAsBytes(document);
  }

  private class One implements Callable {
    private final String path;
    private final long size;

    One(String path, long size) {
      this.path = path;
      this.size = size;
    }

    public Object call() {
      try {
        Reader reader = OrcFile.createReader(new Path(path), OrcFile.readerOptions(configuration).maxLength(size));
        try {
          return told(reader, size);
        } finally {
          reader.close();
        }
      } catch (Throwable unreadable) {
        return null;
      }
    }
  }

  Map told(Reader reader, long size) throws Exception {
    List starts = new ArrayList();
    List ends = new ArrayList();
    List rows = new ArrayList();
    List statistics = new ArrayList();
    List stripes = reader.getStripes();
    List ofStripes = reader.getStripeStatistics();
    long total = 0L;
    for (int i = 0; i < stripes.size(); i++) {
      StripeInformation stripe = (StripeInformation) stripes.get(i);
      starts.add(Long.valueOf(stripe.getOffset()));
      ends.add(Long.valueOf(stripe.getOffset() + stripe.getLength()));
      rows.add(Long.valueOf(stripe.getNumberOfRows()));
      total += stripe.getNumberOfRows();
      if (i < ofStripes.size()) statistics.add(((StripeStatistics) ofStripes.get(i)).getColumnStatistics());
    }
    if (total != reader.getNumberOfRows()) return null;
    if (ofStripes.size() != stripes.size()) {
      starts = one(Long.valueOf(0L));
      ends = one(Long.valueOf(size));
      rows = one(Long.valueOf(total));
      statistics = one(reader.getStatistics());
    }
    Map found = new LinkedHashMap();
    found.put("starts", starts);
    found.put("ends", ends);
    found.put("rows", rows);
    List columns = new ArrayList();
    for (int c = 0; c < names.size(); c++) columns.add(column(place(reader, c), (String) types.get(c), statistics, rows));
    found.put("columns", columns);
    return found;
  }

  private static List one(Object only) {
    List found = new ArrayList();
    found.add(only);
    return found;
  }

  /** The number of a column among the statistics of a file, or -1 where they may be of something else than Spark reads. */
  private int place(Reader reader, int column) {
    String name = (String) names.get(column);
    String type = (String) types.get(column);
    TypeDescription file = reader.getSchema();
    if (file.getCategory() != TypeDescription.Category.STRUCT || name.indexOf('.') >= 0) return -1;
    if (reader.getEncryptionVariants().length > 0 || reader.getColumnEncryptionKeys().length > 0) return -1;
    // until then the largest values of strings, and those of small decimals, could be wrong
    if (!reader.getWriterVersion().includes(OrcFile.WriterVersion.HIVE_8732)) return -1;
    if (type.startsWith("decimal") && !reader.getWriterVersion().includes(OrcFile.WriterVersion.ORC_517)) return -1;
    int found = -1;
    int events = 0;
    List stored = file.getFieldNames();
    for (int i = 0; i < stored.size(); i++) {
      String other = (String) stored.get(i);
      String small = other.toLowerCase(Locale.ROOT);
      // names that Hive makes up: Spark goes by the place instead
      if (small.startsWith("_col")) return -1;
      if (EVENTS.contains(small)) events++;
      if (!(caseSensitive ? other.equals(name) : small.equals(name.toLowerCase(Locale.ROOT)))) continue;
      if (found >= 0) return -1;
      found = i;
    }
    if (found < 0 || events == EVENTS.size()) return -1;
    TypeDescription field = (TypeDescription) file.getChildren().get(found);
    return field.toString().equals(type) ? field.getId() : -1;
  }

  /** {least values, greatest values, numbers of NULLs}, each with one entry for each stripe; null is unknown. */
  private static List column(int place, String type, List statistics, List rows) {
    List lows = new ArrayList();
    List highs = new ArrayList();
    List nulls = new ArrayList();
    for (int i = 0; i < statistics.size(); i++) {
      ColumnStatistics[] all = (ColumnStatistics[]) statistics.get(i);
      Object[] known = place < 0 || place >= all.length ? null : known(all[place], type, ((Long) rows.get(i)).longValue());
      lows.add(known == null ? null : known[0]);
      highs.add(known == null ? null : known[1]);
      nulls.add(known == null ? null : known[2]);
    }
    List found = new ArrayList();
    found.add(lows);
    found.add(highs);
    found.add(nulls);
    return found;
  }

  private static Object[] known(ColumnStatistics column, String type, long rows) {
    Object[] ends = ends(column, type);
    long values = column.getNumberOfValues();
    if (ends == null || values < 0L || values > rows) return null;
    // a writer that counts nothing seems to have seen no value; one that has seen none has no least value
    if (values == 0L) return ends[0] == null && ends[1] == null && column.hasNull() ? new Object[] {null, null, Long.valueOf(rows)} : null;
    boolean counted = column.hasNull() == (values < rows);
    return new Object[] {ends[0], ends[1], counted ? Long.valueOf(rows - values) : null};
  }

  /** The least and the greatest value in the form that domains use, nulls where there are none; null for another kind of column. */
  private static Object[] ends(ColumnStatistics column, String type) {
    if (column instanceof IntegerColumnStatistics && type.endsWith("int")) {
      IntegerColumnStatistics whole = (IntegerColumnStatistics) column;
      if (whole.getMinimum() > whole.getMaximum()) return new Object[2];
      return new Object[] {Long.valueOf(whole.getMinimum()), Long.valueOf(whole.getMaximum())};
    }
    if (column instanceof StringColumnStatistics && type.equals("string")) return texts((StringColumnStatistics) column);
    if (column instanceof DecimalColumnStatistics && type.startsWith("decimal")) {
      DecimalColumnStatistics decimal = (DecimalColumnStatistics) column;
      if (decimal.getMinimum() == null || decimal.getMaximum() == null) return new Object[2];
      return new Object[] {decimal.getMinimum().bigDecimalValue().toPlainString(), decimal.getMaximum().bigDecimalValue().toPlainString()};
    }
    if (column instanceof DateColumnStatistics && type.equals("date")) return days((DateColumnStatistics) column);
    if (column instanceof BooleanColumnStatistics && type.equals("boolean")) {
      long no = ((BooleanColumnStatistics) column).getFalseCount();
      long yes = ((BooleanColumnStatistics) column).getTrueCount();
      if (no + yes != column.getNumberOfValues()) return null;
      return no + yes == 0L ? new Object[2] : new Object[] {Boolean.valueOf(no == 0L), Boolean.valueOf(yes > 0L)};
    }
    return null;
  }

  private static Object[] days(DateColumnStatistics column) {
    if (column.getMinimumLocalDate() == null || column.getMaximumLocalDate() == null) return new Object[2];
    long first = column.getMinimumDayOfEpoch();
    long last = column.getMaximumDayOfEpoch();
    return OldCalendar.isSureDay(first) && first <= last ? new Object[] {Long.valueOf(first), Long.valueOf(last)} : null;
  }

  private static Object[] texts(StringColumnStatistics column) {
    if (column.getLowerBound() == null && column.getUpperBound() == null) return new Object[2];
    // what was cut off is a bound, and no value
    String least = column.getMinimum();
    String greatest = column.getMaximum();
    return isWhole(least) && isWhole(greatest) ? new Object[] {least, greatest} : null;
  }

  /** Text that is no UTF-8 was changed when it became a string. */
  private static boolean isWhole(String text) { return text != null && text.indexOf('\uFFFD') < 0; }
}
