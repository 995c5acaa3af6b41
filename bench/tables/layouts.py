"""The advice on an unclustered store_sales, against what the layout that it names then reads."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import headgate
from bench.batch import KEY, SELECTIVE
from bench.results import Result
from bench.tables.session import files_read, make_once
from headgate.advise import advise


def measure(spark: SparkSession, home: Path, plain: Path) -> list[Result]:
    """Ask for advice on the ten queries, follow it, and count the files that are read then."""
    for table in sorted(path for path in plain.iterdir() if path.is_dir()):
        spark.read.parquet(str(table)).createOrReplaceTempView(table.name)
    (advice,) = (
        found for found in advise(spark, {q.name: q.sql for q in SELECTIVE}) if found.path.endswith("store_sales")
    )
    if advice.column != KEY:
        raise SystemExit(f"the advice names another column than {KEY}: {advice}")
    clustered = home / "advised"

    def follow() -> None:
        exec(advice.statement.replace(f"{advice.path}_clustered", str(clustered)), {"spark": spark})

    make_once(home, "advised", follow)
    spark.read.parquet(str(clustered)).createOrReplaceTempView("store_sales")
    headgate.enable(spark, strategy="always", non_blocking=False)
    results = []
    told = {read.query: read for read in advice.reads}
    seen = {}
    for query in SELECTIVE:
        frame = spark.sql(query.sql)
        frame.collect()
        seen[query.name] = files_read(frame, KEY)
        estimate = told[query.name]
        what = f"{query.name}: files read (now {estimate.now}, advice {estimate.then})"
        results.append(Result(what, seen[query.name], "{:.0f}".format))
    headgate.disable(spark)
    error = abs(sum(read.then for read in advice.reads) - sum(seen.values())) / sum(seen.values())
    results.append(Result("all ten: the estimate is off by", error, "{:.1%}".format, 0.1))
    return results
