"""Where a table lies, by its format: how it is read again, how many files it has, and how to cluster it by a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headgate.plan.kinds import Source

# Spark finds the bounds of ranges by a sample of 100 rows for each: files of one size need more
_SAMPLING, _SAMPLE = "spark.sql.execution.rangeExchange.sampleSizePerPartition", 10_000
_BY_PATH = "default_iceberg."  # what Iceberg calls the catalog of tables that are read by their path


@dataclass(frozen=True, slots=True)
class Place:
    """A table as a scan names it; ``format`` is what Spark's reader calls Parquet and ORC files."""

    source: Source
    table: str
    path: str
    format: str

    @property
    def counts_for_itself(self) -> bool:
        """Whether the table's own log, and not Headgate, knows its files."""
        return self.source in (Source.DELTA, Source.ICEBERG)

    @property
    def has_statistics(self) -> bool:
        """Whether files can be skipped by what is known of their columns."""
        return self.counts_for_itself or self.format in ("parquet", "orc")

    @property
    def file_column(self) -> str:
        """The column that says which file a row is in."""
        return "_file" if self.source is Source.ICEBERG else "_metadata.file_path"

    @property
    def _has_a_name(self) -> bool:
        """Whether an Iceberg table is one of a catalog, whose procedures can be called, and no view of a path."""
        return "." in self.table and not self.table.startswith(_BY_PATH)

    def read(self, spark: Any) -> Any:
        """Return all rows of the table."""
        match self.source:
            case Source.DELTA:
                return spark.read.format("delta").load(self.path)
            case Source.ICEBERG:
                return spark.read.format("iceberg").load(self.table if self._has_a_name else self.path)
        return spark.read.format(self.format).load(self.path)

    def size(self, spark: Any) -> tuple[int, int]:
        """Return how many files the table has by its own log, and their bytes."""
        if self.source is Source.DELTA:
            detail = spark.sql(f"DESCRIBE DETAIL delta.`{self.path}`").first()
            return int(detail["numFiles"]), int(detail["sizeInBytes"])
        files = spark.read.format("iceberg").load(f"{self.table}.files" if self._has_a_name else f"{self.path}#files")
        found = files.where("content = 0").selectExpr("count(*)", "coalesce(sum(file_size_in_bytes), 0)").first()
        return int(found[0]), int(found[1])

    def statement(self, column: str, files: int, bytes: int) -> str:
        """Say what to run, as a person would write it in PySpark."""
        each = max(1, -(-bytes // max(1, files)))
        if self.source is Source.DELTA:
            limited = f'spark.conf.set("spark.databricks.delta.optimize.maxFileSize", {each})'
            return f'{limited}; spark.sql("OPTIMIZE delta.`{self.path}` ZORDER BY ({_quoted(column)})")'
        catalog, _, name = self.table.partition(".")
        if self.source is Source.ICEBERG and self._has_a_name:
            order = f"strategy => 'sort', sort_order => '{_quoted(column)} ASC NULLS FIRST'"
            options = f"options => map('rewrite-all', 'true', 'target-file-size-bytes', '{each}')"
            return f"spark.sql(\"CALL {catalog}.system.rewrite_data_files(table => '{name}', {order}, {options})\")"
        sampled = f'spark.conf.set("{_SAMPLING}", {_SAMPLE})'
        ordered = f'.repartitionByRange({files}, "{column}").sortWithinPartitions("{column}")'
        if self.source is Source.ICEBERG:
            read = f'spark.read.format("iceberg").load("{self.path}")'
            return f'{sampled}; {read}{ordered}.write.format("iceberg").mode("overwrite").save("{self.path}")'
        written = f'.write.{self.format}("{self.path.rstrip("/")}_clustered")'
        return f'{sampled}; spark.read.{self.format}("{self.path}"){ordered}{written}'


def _quoted(column: str) -> str:
    return column if column.isidentifier() else f"`{column}`"
