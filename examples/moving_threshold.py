"""Orders arrive, and a threshold moves over them: the rows above it, kept up to date, drawn after each micro-batch.

The stream is compared with a batch query over the same rows after each move; the program fails if they differ.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

import headgate

WIDTH = 60
DOMAIN = 1_200
MOVES = [600, 620, 1_000, 980, 150, 160, None, 450, 1_150, 300]
console = Console(highlight=False)


def write(folder: Path, number: int, columns: dict[str, list[int | None]]) -> None:
    """Write the file that a micro-batch takes."""
    folder.mkdir(exist_ok=True)
    schema = pa.schema([(name, pa.int64()) for name in columns])
    pq.write_table(pa.table(columns, schema=schema), folder / f"{number:03}.parquet")
    os.utime(folder / f"{number:03}.parquet", (1_000_000 + number, 1_000_000 + number))


def picture(stored: list[int], passing: Counter[int], threshold: int | None) -> str:
    """Draw the ordered state from left to right: what passes is full, what waits is hollow, and the pointer between."""
    cells = []
    pointer = None if threshold is None else threshold * WIDTH // DOMAIN
    for cell in range(WIDTH):
        here = [v for v in stored if v * WIDTH // DOMAIN == cell]
        mark = "[green]●[/]" if any(passing[v] for v in here) else "[dim]○[/]" if here else " "
        cells.append(f"[bold yellow]▲[/]{mark}" if cell == pointer else mark)
    return "".join(cells)


def main() -> None:
    """Run the stream over files that are written beforehand, one for each micro-batch."""
    draw = random.Random(4)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", 2)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    orders: list[list[int]] = [[draw.randrange(DOMAIN) for _ in range(40)] for _ in MOVES]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        for number, (amounts, threshold) in enumerate(zip(orders, MOVES, strict=True)):
            first = number * len(amounts)
            write(home / "orders", number, {"id": [*range(first, first + len(amounts))], "amount": [*amounts]})
            write(home / "thresholds", number, {"at": [number], "threshold": [threshold]})
        run(spark, home, orders)
    spark.stop()


def run(spark: SparkSession, home: Path, orders: list[list[int]]) -> None:
    """Follow the changelog, draw it, and compare it with the rows themselves."""
    one_file = spark.readStream.option("maxFilesPerTrigger", 1)
    above = headgate.stream.dynamic_filter(
        one_file.schema("id bigint, amount bigint").parquet(str(home / "orders")),
        one_file.schema("at bigint, threshold bigint").parquet(str(home / "thresholds")),
        "amount > threshold",
        key="id",
        order="at",
    )
    passing: Counter[int] = Counter()

    def follow(changes: DataFrame, number: int) -> None:
        told = changes.collect()
        for change in told:
            passing[change.amount] += 1 if change["_op"][0] == "+" else -1
        stored = [amount for amounts in orders[: number + 1] for amount in amounts]
        threshold = MOVES[number]
        console.print(f"{picture(stored, passing, threshold)}  > {threshold}: {len(told):4} changes")
        right = Counter(amount for amount in stored if threshold is not None and amount > threshold)
        if +passing != right:
            raise SystemExit(f"after batch {number} the stream has {+passing}, a batch query {right}")

    query = above.writeStream.foreachBatch(follow).trigger(availableNow=True).start()
    query.awaitTermination()
    console.print(headgate.streaming_report(query))
    console.print("After each move the stream held what a batch query finds.")


if __name__ == "__main__":
    main()
