"""Java classes for tests, compiled with Spark's compiler: formats and indexes that mean something else, a slow function.

`SwappedParquet` finds column k under the name v and v under k, and i and l likewise, as formats with a column mapping do.
`OtherIndex` is an index that lists as the one behind it does, and is nobody's business. `Held` is a function that says that it
runs, by making a file, and returns when another file is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

SWAPPED = "stand_in.SwappedParquet"
SOURCES = {
    "SwappedParquet": """
package stand_in;

import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

public class SwappedParquet extends ParquetFileFormat {
  public scala.Function1 buildReaderWithPartitionValues(org.apache.spark.sql.SparkSession session, StructType data,
      StructType partition, StructType required, scala.collection.immutable.Seq filters,
      scala.collection.immutable.Map options, org.apache.hadoop.conf.Configuration conf) {
    scala.collection.immutable.Seq none = (scala.collection.immutable.Seq) scala.collection.immutable.Nil$.MODULE$;
    return super.buildReaderWithPartitionValues(session, swapped(data), partition, swapped(required), none, options, conf);
  }

  private static StructType swapped(StructType columns) {
    StructField[] fields = new StructField[columns.fields().length];
    for (int i = 0; i < fields.length; i++) {
      StructField field = columns.fields()[i];
      int pair = "kvil".indexOf(field.name());
      String name = pair < 0 ? field.name() : String.valueOf("vkli".charAt(pair));
      fields[i] = new StructField(name, field.dataType(), field.nullable(), field.metadata());
    }
    return new StructType(fields);
  }
}
""",
    "Held": """
package stand_in;

import java.io.File;
import org.apache.spark.sql.api.java.UDF1;

public class Held implements UDF1, java.io.Serializable {
  private final String started;
  private final String go;

  public Held(String started, String go) {
    this.started = started;
    this.go = go;
  }

  public Object call(Object value) throws Exception {
    new File(started).createNewFile();
    while (!new File(go).exists()) Thread.sleep(10L);
    return value;
  }
}
""",
    "OtherIndex": """
package stand_in;

import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

public class OtherIndex implements FileIndex {
  private final FileIndex all;

  public OtherIndex(FileIndex all) { this.all = all; }
  public Seq rootPaths() { return all.rootPaths(); }
  public StructType partitionSchema() { return all.partitionSchema(); }
  public void refresh() { all.refresh(); }
  public long sizeInBytes() { return all.sizeInBytes(); }
  public scala.Option metadataOpsTimeNs() { return all.metadataOpsTimeNs(); }
  public String[] inputFiles() { return all.inputFiles(); }
  public Seq listFiles(Seq partitionFilters, Seq dataFilters) { return all.listFiles(partitionFilters, dataFilters); }
}
""",
}


def stand_ins(spark: SparkSession, home: Path) -> None:
    """Compile the classes and load them where Spark looks for data sources."""
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    resource = jvm.org.codehaus.commons.compiler.util.resource
    inputs = spark.sparkContext._gateway.new_array(resource.Resource, len(SOURCES))
    for i, (name, source) in enumerate(SOURCES.items()):
        path = home / f"{name}.java"
        path.write_text(source)
        inputs[i] = resource.FileResource(jvm.java.io.File(str(path)))
    compiler = jvm.org.codehaus.janino.Compiler()
    compiler.setIClassLoader(jvm.org.codehaus.janino.ClassLoaderIClassLoader(loader))
    compiler.setDestinationDirectory(jvm.java.io.File(str(home / "classes")), False)
    compiler.compile(inputs)
    loader.addURL(jvm.java.io.File(str(home / "classes")).toURI().toURL())


def indexed(spark: SparkSession, frame: DataFrame) -> DataFrame:
    """Return a frame over the same files that lists them through a `OtherIndex`."""
    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    plan = frame._jdf.queryExecution().optimizedPlan()
    files = plan.relation()
    index = loader.loadClass("stand_in.OtherIndex").getConstructors()[0].newInstance(_array(jvm, files.location()))
    fresh = files.copy(
        index,
        files.partitionSchema(),
        files.dataSchema(),
        files.bucketSpec(),
        files.fileFormat(),
        files.options(),
        spark._jsparkSession,
    )
    relation = plan.copy(fresh, plan.output(), plan.catalogTable(), plan.isStreaming(), plan.stream())
    made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, relation)
    return ClassicFrame(made, spark)


def _array(jvm: Any, *items: Any) -> Any:
    listed = jvm.java.util.ArrayList()
    for item in items:
        listed.add(item)
    return listed.toArray()
