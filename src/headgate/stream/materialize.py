"""A table that is kept equal to the rows of a changelog, exactly once whatever is restarted or killed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import ArrayType, DataType, StructType

from headgate.catalyst.changes import packed_row
from headgate.catalyst.files import Folder
from headgate.catalyst.names import quoted
from headgate.errors import BadInput
from headgate.stream.changelog import check_changelog, columns_of, key_columns, kind_of, schema_of, whole_number
from headgate.stream.manifest import VERSION, BucketFile, Manifest, check_free, new_home, newest, publish, sweep
from headgate.stream.places import add_writer, check_checkpoint, check_no_writer, folder_at

BUCKET, WEIGHT = "_bucket", "_weight"
_CHECKPOINT = "_checkpoint"
# beside the columns of a row
_LEAST, _ALL, _ROW, _PACKED = "_headgate_least", "_headgate_all", "_headgate_row", "_headgate_packed"


def materialize(
    changes: DataFrame,
    path: str | PathLike[str],
    key: str | Sequence[str],
    *,
    checkpoint: str | PathLike[str] | None = None,
    every: str | None = None,
    available_now: bool = False,
    name: str | None = None,
    buckets: int = 16,
    keep: int = 2,
) -> StreamingQuery:
    """Start a query that keeps a table at ``path`` equal to the rows of a changelog; read it with `read_materialized`.

    ``key`` tells rows apart: the table holds one row of each key. Rows lie in Parquet files in ``buckets`` by the hash
    of their key; a batch writes those buckets anew that it changes, and then a manifest, which appears at once and
    makes them current. A batch that Spark runs again after a crash is known by its number, and left out. Files are
    deleted when the last ``keep`` manifests no longer name them, so that whoever is reading the table can go on for as
    many batches. A batch that takes away a row that is not there, or that would leave two rows of one key, fails, and
    the table stays as it was.

    ``path`` is any that Spark can write to. The checkpoint is in ``<path>/_checkpoint`` unless told otherwise; a table
    belongs to one checkpoint. ``every`` ("10 seconds") and ``available_now`` say when batches run, as Spark's triggers
    do. Delta and other table formats are not written: `foreachBatch` with their MERGE does that.
    """
    check_changelog(changes, "changes")
    keys = key_columns(changes, key, "changes")
    _check_options(changes, keys, buckets, keep, every, available_now)
    spark = changes.sparkSession
    folder = folder_at(spark, path, "the path")
    saved = folder_at(spark, folder.at(_CHECKPOINT) if checkpoint is None else checkpoint, "the checkpoint")
    check_checkpoint(folder, saved)
    check_no_writer(spark, folder)
    own = saved.path.removeprefix(f"{folder.path}/").partition("/")[0]  # the checkpoint, where it lies in the folder
    check_free(folder, {_CHECKPOINT, own})
    table = _Table(
        folder.path, saved.path, keys, schema_of(changes), whole_number("buckets", buckets), whole_number("keep", keep)
    )
    table.current(spark, folder)
    weighed = changes.select(
        *(sf.col(quoted(column)) for column in columns_of(changes)),
        sf.when(kind_of(changes).isin(0, 2), 1).otherwise(-1).alias(WEIGHT),
    )
    writer = weighed.writeStream.foreachBatch(table.take).option("checkpointLocation", saved.path)
    writer = writer.queryName(name) if name else writer
    if available_now:
        writer = writer.trigger(availableNow=True)
    query = _started(writer, every)
    add_writer(spark, folder, query)
    return query


def _started(writer: DataStreamWriter, every: str | None) -> StreamingQuery:
    try:
        writer = writer.trigger(processingTime=every) if every is not None else writer
    except PySparkException as error:
        raise BadInput(f'every is {every!r}; it has to be an interval, such as "10 seconds": {_told(error)}') from None
    try:
        return writer.start()
    except (AnalysisException, IllegalArgumentException) as error:
        told = _told(error)
        advice = "; `headgate.stream.aggregate` keeps totals that can be materialised" if "aggregat" in told else ""
        raise BadInput(f"the query cannot be started: {told}{advice}") from None


def _told(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def read_materialized(spark: SparkSession, path: str | PathLike[str]) -> DataFrame:
    """Return the table that `materialize` keeps at ``path``, as it is now: rows of one moment, whatever comes later."""
    folder = folder_at(spark, path, "the path")
    manifest = newest(folder)
    if manifest is None:
        raise BadInput(f"no materialised table at {folder.path}; `headgate.stream.materialize` makes one")
    return _rows(spark, folder, [file.path for file in manifest.files], manifest.struct())


def _rows(spark: SparkSession, folder: Folder, files: list[str], schema: StructType) -> DataFrame:
    if not files:
        return spark.createDataFrame([], schema)
    strict = {"ignoreMissingFiles": False, "ignoreCorruptFiles": False}  # whatever the session says: no row may be lost
    try:
        read = spark.read.schema(schema).options(**strict).parquet(*(folder.at(file) for file in files))
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        gone = next((file for file in files if not folder.has(file)), files[0])
        raise BadInput(
            f"the table at {folder.path} has lost its file {gone}, which its query has not deleted: put it back, or "
            "materialise the changelog again, with another path and checkpoint"
        ) from None
    return read.select(*(sf.col(quoted(name)) for name in schema.names))


@dataclass(frozen=True)
class _Table:
    """The table that one query writes."""

    path: str
    checkpoint: str
    key: list[str]
    schema: StructType
    buckets: int
    keep: int

    def current(self, spark: SparkSession, folder: Folder) -> Manifest | None:
        """Return the current manifest; refuse one that another query has written, or in another form."""
        current = newest(folder)
        if current is None:
            return None
        if current.query != self._query(spark):
            raise BadInput(
                f"the table at {self.path} belongs to query {current.query}, and the checkpoint {self.checkpoint} to "
                f"{self._query(spark) or 'none yet'}: give the checkpoint it was written with, or another path"
            )
        said = (current.key, current.buckets, current.struct().simpleString())
        asked = (self.key, self.buckets, self.schema.simpleString())
        for what, was, now in zip(("key", "buckets", "columns"), said, asked, strict=True):
            if was != now:
                raise BadInput(
                    f"the table at {self.path} was written with {what} {was}, and now {what} is {now}: give the same "
                    "again, or another path and checkpoint"
                )
        return current

    def take(self, batch: DataFrame, number: int) -> None:
        """Bring the table up to the end of a batch, unless it is there already."""
        spark = batch.sparkSession
        folder = Folder(spark, self.path)
        current = self.current(spark, folder)
        if current is None and number > 0:  # the first batch writes a manifest, whatever it brings
            raise BadInput(
                f"no table at {self.path}, and the checkpoint {self.checkpoint} is at batch {number}: its rows were "
                "written elsewhere, or deleted; give the path they are at, or a new checkpoint"
            )
        if current is not None and number <= current.batch:
            batch.write.format("noop").mode("overwrite").save()  # operators below have state to commit in each batch
            return
        net = self._added_up(self._with_bucket(batch)).persist()
        try:
            touched = {row[0] for row in net.select(BUCKET).distinct().collect()}
            if touched or current is None:
                files = self._written(spark, folder, net, touched, current, number)
                publish(folder, self._manifest(spark, number, files))
                sweep(folder, self.keep)
        finally:
            net.unpersist()

    def _with_bucket(self, rows: DataFrame) -> DataFrame:
        return rows.select(sf.pmod(sf.hash(*map(quoted, self.key)), sf.lit(self.buckets)).alias(BUCKET), "*")

    def _added_up(self, rows: DataFrame) -> DataFrame:
        """Return each row once, with its weight; all rows of a bucket are in one task, for what follows too."""
        placed = rows.repartition(self.buckets, BUCKET)
        # by their bytes: values that compare as equal, such as 0.0 and -0.0, are different rows all the same
        rows_only = placed.select(*map(quoted, self.schema.names))
        grouped = placed.groupBy(BUCKET, packed_row(rows_only).alias(_PACKED)).agg(
            sf.first(sf.struct(*map(quoted, self.schema.names))).alias(_ROW), sf.sum(WEIGHT).alias(WEIGHT)
        )
        return grouped.where(sf.col(WEIGHT) != 0).select(BUCKET, f"{_ROW}.*", WEIGHT)

    def _written(
        self,
        spark: SparkSession,
        folder: Folder,
        net: DataFrame,
        touched: set[int],
        current: Manifest | None,
        number: int,
    ) -> list[BucketFile]:
        """Write the buckets that a batch has touched anew; return all files of the table."""
        rows, kept = net, list[BucketFile]()
        if current is not None:
            old = _rows(spark, folder, current.in_buckets(touched), self.schema).withColumn(WEIGHT, sf.lit(1))
            rows, kept = self._with_bucket(old).unionByName(net), current.outside(touched)
        home = new_home(number)
        self._checked(self._added_up(rows)).write.partitionBy(BUCKET).parquet(folder.at(home))
        written = [path for path in folder.files_below(home) if path.endswith(".parquet")]
        return kept + [BucketFile(int(path.split("/")[2].partition("=")[2]), path) for path in written]

    def _checked(self, rows: DataFrame) -> DataFrame:
        """Return the rows that are there; one that is there less than once, or a key more than once, fails the job."""
        row = sf.struct(*map(quoted, self.schema.names))
        named = [quoted(name) for name in self.key]
        keyed = rows.groupBy(BUCKET, *named).agg(
            sf.min(WEIGHT).alias(_LEAST), sf.sum(WEIGHT).alias(_ALL), sf.max_by(row, WEIGHT).alias(_ROW)
        )
        told = sf.to_json(sf.struct(*named), {"ignoreNullFields": "false"})
        missing = sf.concat(sf.lit("The changelog took away a row that is not there, of key "), told, sf.lit("."))
        twice = sf.concat(
            sf.lit("The table would hold more than one row of key "),
            told,
            sf.lit(": the key has to tell all rows apart."),
        )
        verdict = sf.when(sf.col(_LEAST) < 0, _failure(missing)).when(sf.col(_ALL) > 1, _failure(twice)).otherwise(True)
        return keyed.where(verdict).select(f"{_ROW}.*", BUCKET)

    def _manifest(self, spark: SparkSession, number: int, files: list[BucketFile]) -> Manifest:
        query = self._query(spark) or ""
        return Manifest(VERSION, query, number, self.key, self.buckets, self.schema.json(), files)

    def _query(self, spark: SparkSession) -> str | None:
        """Return the id of the query whose checkpoint this is."""
        content = Folder(spark, self.checkpoint).read("metadata")
        return str(json.loads(content)["id"]) if content else None


def _failure(told: Column) -> Column:
    return sf.raise_error(told).cast("boolean")


def _fits_a_file(type: DataType) -> bool:
    if isinstance(type, StructType):
        return all(_fits_a_file(field.dataType) for field in type.fields)
    if isinstance(type, ArrayType):
        return _fits_a_file(type.elementType)
    return type.typeName() not in ("void", "interval")


def _check_options(
    changes: DataFrame, keys: list[str], buckets: int, keep: int, every: str | None, available_now: bool
) -> None:
    if not 1 <= whole_number("buckets", buckets) <= 4096:
        raise BadInput(f"buckets is {buckets}; it has to be from 1 to 4,096")
    if whole_number("keep", keep) < 1:
        raise BadInput(f"keep is {keep}; at least the current manifest has to be kept, so it has to be 1 or more")
    if every and available_now:
        raise BadInput("every and available_now are both given; a query runs at intervals, or once over what is there")
    taken = [name for name in changes.columns if name.lower() in (BUCKET, WEIGHT)]
    if taken:
        raise BadInput(f"changes has a column {taken[0]!r}, a name that the table's files need: rename it")
    for field in changes.schema.fields:
        if not _fits_a_file(field.dataType):
            kind = field.dataType.simpleString()
            raise BadInput(f"column {field.name!r} of changes is {kind}, which a Parquet file cannot hold: cast it")
    try:
        placed = changes.select(sf.hash(*map(quoted, keys)).alias(BUCKET), "*")
        placed.groupBy(BUCKET, *map(quoted, columns_of(changes))).count().schema  # noqa: B018
    except AnalysisException as error:
        raise BadInput(f"rows of {changes.schema.simpleString()} cannot be told apart: {_told(error)}") from None
