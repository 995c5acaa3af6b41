"""Make random attacks on a query, each from a seed, and carry them out with Headgate off or on.

An attack is a random query with settings, tables of its own in odd shapes, and a story: the query is planned and run
while somebody writes to its tables, in between or at the same time. The same story is told twice, on tables of the same
content, with Headgate off and on; its answers are compared one by one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from pyspark.sql import DataFrame, SparkSession

import headgate
from tests.batch.changing_tables import PLANNERS
from tests.batch.differential import Answer, outcome, settings
from tests.batch.moments import MOMENTS, filters_first, once_at
from tests.batch.random_queries import RandomQuery
from tests.batch.random_tables import SHAPES, TYPES, RandomTable, random_rows, write_random_table

STORIES = {"run": 40, "plan and write": 30, "keep a frame": 12, "replace a view": 6, "write meanwhile": 12}
WRITES = ("append", "append", "overwrite", "delete", "rewrite", "evolve", "insert")
REMOVING = ("overwrite", "delete", "rewrite", "insert")
WAITS = {"auto": 3, "0s": 4, "5s": 3}


@dataclass(frozen=True)
class Write:
    """One write to a table: which, in what way, and the seed of its rows."""

    table: str
    kind: str
    seed: str


@dataclass(frozen=True)
class Attack:
    """One case, decided in full by its seed."""

    seed: str
    story: str
    tables: tuple[RandomTable, ...]
    own: tuple[RandomTable, ...]
    settings: dict[str, str]
    planner: int
    writes: tuple[Write, ...]
    moment: str
    filters_first: bool

    def query(self) -> RandomQuery:
        """Return the query, the same each time."""
        return RandomQuery(Random(f"query {self.seed}"), list(self.tables))

    def __str__(self) -> str:
        own = [f"{t.name} ({t.shape}{', in the catalog' if t.in_catalog else ''})" for t in self.own]
        when = self.moment if self.story == "write meanwhile" else "first" if self.filters_first else "any time"
        return (
            f"story: {self.story}, planner {self.planner}, {when}\ntables: {own}\n"
            f"writes: {[f'{w.kind} {w.table}' for w in self.writes]}\nsettings: {self.settings}"
        )


def random_attack(seed: str, shared: list[RandomTable]) -> Attack:
    """Decide everything about one case."""
    random = Random(f"attack {seed}")
    story = random.choices(*zip(*STORIES.items(), strict=True))[0]
    own = _own_tables(random, shared, written=story != "run")
    # a query over few tables reads those that are written to, and on both sides of its joins
    copied = {table.name.replace("own", "random") for table in own}
    rest = [table for table in shared if table.name not in copied]
    tables = [*own, *rest[: 1 if own else len(rest)]]
    random.shuffle(tables)
    written = random.choices(own, k=random.choice((1, 1, 2))) if story != "run" else []
    writes = tuple(Write(t.name, random.choice(WRITES), f"write {seed}-{i}") for i, t in enumerate(written))
    if story == "write meanwhile":
        writes = writes[:1]  # two writes have states between them, which are answers too
    return Attack(
        seed,
        story,
        tuple(tables),
        tuple(own),
        _settings(random, own),
        random.randrange(len(PLANNERS)),
        writes,
        random.choice(list(MOMENTS)),
        random.random() < 0.6,
    )


def _own_tables(random: Random, shared: list[RandomTable], *, written: bool) -> list[RandomTable]:
    """Choose the tables of which an attack has copies of its own: those that are written to, or that have odd shapes."""
    own = []
    for number in random.sample(range(len(shared)), random.choice((1, 2, 2) if written else (0, 0, 0, 1))):
        in_catalog = random.random() < 0.15
        shape = "plain" if in_catalog or random.random() < 0.5 else random.choice(SHAPES)
        own.append(replace(shared[number], name=f"own_{number}", shape=shape, in_catalog=in_catalog))
    return own


def _settings(random: Random, own: list[RandomTable]) -> dict[str, str]:
    """Queries this small are mostly overhead, so most have no code generation and no adaptive plan."""
    shapes = {table.shape for table in own}
    wait = random.choices(*zip(*WAITS.items(), strict=True))[0]
    generated = random.random() < 0.1
    return {
        "spark_sql_adaptive_enabled": str(random.random() < 0.25).lower(),
        "spark_sql_codegen_wholeStage": str(generated).lower(),
        "spark_sql_codegen_factoryMode": "FALLBACK" if generated else "NO_CODEGEN",
        "spark_sql_autoBroadcastJoinThreshold": random.choice(("-1", "10MB")),
        "spark_sql_caseSensitive": str("cased" in shapes and random.random() < 0.7).lower(),
        "spark_sql_parquet_fieldId_read_enabled": str("swapped" in shapes).lower(),
        # Spark pushes filters down by name where columns are found by id, and loses rows itself
        "spark_sql_parquet_filterPushdown": str("swapped" not in shapes).lower(),
        "spark_headgate_maxWait": wait,
        "spark_headgate_nonBlocking": str(wait != "5s" or random.random() < 0.5).lower(),
        "spark_headgate_maxDistinctValues": random.choice(("10000", "10000", "3", "0")),
        "spark_headgate_filterRows": str(random.random() < 0.8).lower(),
    }


class Stage:
    """Where a story is told: Spark, the attack's own tables in a folder, and whether Headgate is on."""

    def __init__(self, spark: SparkSession, attack: Attack, home: Path, on: bool) -> None:
        self.spark, self.attack, self.on = spark, attack, on
        self.own: dict[str, RandomTable] = {}
        for table in attack.own:
            random = Random(f"rows {attack.seed} {table.name}")
            rows = random.choice((12, 40, 90))
            folder, more = home / table.name, {"shape": table.shape, "in_catalog": table.in_catalog}
            self.own[table.name] = write_random_table(random, table.name, folder, rows, table.span, **more)
            self.own[table.name].register(spark)

    def frame(self) -> DataFrame:
        return self.spark.sql(self.attack.query().sql())

    def answer(self) -> Answer:
        return outcome(self.frame)

    def write(self) -> None:
        for write in self.attack.writes:
            self._write(self.own[write.table], write.kind, Random(write.seed))

    def _write(self, table: RandomTable, kind: str, random: Random) -> None:
        files = table.files()
        if kind == "insert" and table.in_catalog:
            columns = ", ".join(part.split()[0] for part in table.schema.split(", ") if part.split()[0] in TYPES)
            how = random.choice(("into", "overwrite"))
            self.spark.sql(f"insert {how} {table.name} select {columns} from random_{random.randrange(4)} where l < 5")
            return
        fresh = random_rows(random, random.choice((5, 30)), table.span)
        if kind == "overwrite":
            for path in files:
                path.unlink()
        elif kind in ("delete", "rewrite") and files:
            random.choice(files).unlink()
        if kind == "evolve":
            lost = random.choice([column for column in "hmsdz" if column != table.partition])
            fresh = fresh.drop_columns([lost]).append_column("extra", fresh["l"])
        if kind != "delete":
            table.add(fresh, f"{100 + random.randrange(800)}", capitals=random.random() < 0.4)
        if table.in_catalog and table.partition:
            self.spark.sql(f"alter table {table.name} recover partitions")
        self.spark.sql(f"refresh table {table.name}")

    def close(self) -> None:
        for table in self.own.values():
            table.unregister(self.spark)
            shutil.rmtree(table.folder, ignore_errors=True)


@contextmanager
def staged(spark: SparkSession, attack: Attack, home: Path, on: bool) -> Iterator[Stage]:
    """Set the stage of an attack, and clear it."""
    with ExitStack() as stack:
        stack.enter_context(settings(spark, **attack.settings))
        stack.enter_context(filters_first() if attack.filters_first else nullcontext())
        stage = Stage(spark, attack, home, on)
        stack.callback(stage.close)
        yield stage


# --- stories: each gives its answers in order ---------------------------------------------------------------------------


def run(stage: Stage) -> list[Answer]:
    """Run the query, and sometimes its frame once more."""
    frame = stage.frame()
    again = stage.attack.planner == 0
    return [outcome(lambda: frame), *([outcome(lambda: frame)] if again else [])]


def plan_and_write(stage: Stage) -> list[Answer]:
    """Plan a frame, write, and run the frame; then a new one."""
    frame = stage.frame()
    PLANNERS[stage.attack.planner](frame)
    stage.write()
    return [outcome(lambda: frame), stage.answer()]


def keep_a_frame(stage: Stage) -> list[Answer]:
    """Run a frame that Headgate has filtered once and for all, write, and run it again."""
    frame = headgate.filtered(stage.frame()) if stage.on else stage.frame()
    first = outcome(lambda: frame.select("*"))
    stage.write()
    return [first, outcome(lambda: frame.select("*")), outcome(lambda: frame)]


def replace_a_view(stage: Stage) -> list[Answer]:
    """Plan a frame over a view, put another table in its place, and run the frame; then a new one."""
    frame = stage.frame()
    PLANNERS[stage.attack.planner](frame)
    for table in stage.own.values():
        other = replace(table, folder=table.folder.with_name(f"{table.name}_other"))
        table.unregister(stage.spark)
        shutil.rmtree(other.folder, ignore_errors=True)  # an earlier attack may have left one of another layout
        other.add(random_rows(Random(f"other {stage.attack.seed}"), 20, table.span), "000")
        other.register(stage.spark)
    return [outcome(lambda: frame), stage.answer()]


def write_meanwhile(stage: Stage) -> list[Answer]:
    """Off: the answers before and after a write. On: the answer while it happens, and the one after it."""
    if not stage.on:
        before = stage.answer()
        stage.write()
        return [before, stage.answer()]
    with once_at(stage.attack.moment, stage.write) as done:
        found = stage.answer()
    if not done:  # no build ran, so nothing was written
        stage.write()
    return [found, stage.answer()]


TOLD: dict[str, Callable[[Stage], list[Answer]]] = {
    "run": run,
    "plan and write": plan_and_write,
    "keep a frame": keep_a_frame,
    "replace a view": replace_a_view,
    "write meanwhile": write_meanwhile,
}


def told(spark: SparkSession, attack: Attack, home: Path, *, on: bool) -> list[Answer]:
    """Carry out an attack; return its answers."""
    with staged(spark, attack, home / ("on" if on else "off"), on) as stage:
        return TOLD[attack.story](stage)


def is_right(attack: Attack, expected: list[Answer], found: list[Answer]) -> bool:
    """Whether the answers are those of plain Spark; while somebody writes, those before the write and after it both are.

    Where plain Spark ends with an error there is no answer to hold to: a file that is gone, or cannot be read, may be one
    that Headgate does not open.
    """
    if attack.story == "write meanwhile":
        # a file that is removed between listing and reading ends any query of Spark
        gone = isinstance(found[0], tuple) and "FILE_NOT_EXIST" in found[0][1] and attack.writes[0].kind in REMOVING
        return (found[0] in expected or gone) and found[1] == expected[1]
    return all(a == b or isinstance(a, tuple) for a, b in zip(expected, found, strict=True))
