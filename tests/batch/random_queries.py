"""Make random queries over random tables, each from a seed.

A query is a star, a snowflake or a chain of joins, wrapped in filters, groupings, unions and the like, and ends in one
row: how many rows it has and a hash over all of them. Nothing in a query depends on the order of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.batch.random_tables import TYPES, RandomTable, literal

COMPARABLE = (
    *((kind, kind) for kind in TYPES if kind != "b"),
    *(pair for a, b in ("il", "hi", "hl", "im", "lw", "mw", "if", "hr", "rf", "lf", "dz") for pair in ((a, b), (b, a))),
)


@dataclass
class Relation:
    """A piece of SQL with its columns by name and type."""

    sql: str
    columns: dict[str, str] = field(default_factory=dict)


class RandomQuery:
    """One random query over some tables; the first is the largest."""

    def __init__(self, random: Random, tables: list[RandomTable]) -> None:
        self._random, self._tables = random, tables
        self._focus = random.randrange(
            tables[0].span
        )  # filters lie around one number, so that something is left to join
        self._aliases = 0
        self._growth = 1.0

    def sql(self) -> str:
        """Return the query that counts and hashes the rows."""
        rows = self.rows()
        hashed = ", ".join(rows.columns)
        return f"select count(*) c, sum(cast(xxhash64({hashed}) as decimal(20,0))) h from ({rows.sql}) q"

    def rows(self) -> Relation:
        """Return the query itself."""
        made = self._joined()
        if self._random.random() < 0.2:
            made = self._grouped(made)
        return made

    def _joined(self) -> Relation:
        shape = self._random.choice(("star", "star", "snowflake", "chain"))
        links = self._random.choice((1, 1, 2, 2, 3))
        current = self._wrapped(self._base(self._tables[0]))
        if shape == "chain" and self._random.random() < 0.5:
            current = self._base(self._random.choice(self._tables[1:]))
        for _ in range(links):
            other = self._wrapped(
                self._base(self._random.choice(self._tables[1:] if shape != "chain" else self._tables))
            )
            if shape == "snowflake" and self._random.random() < 0.6:
                other = self._join(other, self._base(self._random.choice(self._tables[1:]))) or other
            pair = (current, other) if self._random.random() < 0.8 else (other, current)
            current = self._join(*pair) or current
        return current

    def _base(self, table: RandomTable) -> Relation:
        alias = self._alias()
        kinds = self._random.sample(list(TYPES), 7)
        where = self._filter(table) if self._random.random() < 0.5 else ""
        listed = ", ".join(f"{kind} as {alias}_{kind}" for kind in kinds)
        return Relation(f"select {listed} from {table.name}{where}", {f"{alias}_{kind}": kind for kind in kinds})

    def _filter(self, table: RandomTable) -> str:
        kind = self._random.choice([k for k in TYPES if k != "b"])
        width = max(1, table.span // self._random.choice((2, 4, 12)))
        start = max(0, self._focus - self._random.randrange(width + 1))
        low, high = literal(self._random, kind, start), literal(self._random, kind, start + width)
        other = self._random.choice(self._tables[1:])
        match self._random.randrange(8):
            case 0:
                return f" where {kind} = {literal(self._random, kind, self._focus)}"
            case 1:
                return f" where {kind} in ({low}, {high}, {literal(self._random, kind, self._focus)})"
            case 2:
                return f" where {kind} is null or {kind} < {high}"
            case 3:
                return f" where i >= (select max(i) - {width} from {other.name} where i <= {self._focus})"
            case 4:
                return f" where {kind} in (select {kind} from {other.name} where l between {start} and {start + width})"
        return f" where {kind} >= {low} and {kind} <= {high}"

    def _wrapped(self, made: Relation) -> Relation:
        match self._random.randrange(12):
            case 0:
                return self._grouped(made)
            case 1:
                return self._distinct(made)
            case 2:
                return Relation(f"select * from ({made.sql}) union all select * from ({made.sql})", made.columns)
            case 3:
                return self._counted(made)
            case 4:
                return self._cut(made)
            case 5:
                return self._cast(made)
        return made

    def _grouped(self, made: Relation) -> Relation:
        keys = self._some(made)
        alias = self._alias()
        rest = [(name, kind) for name, kind in made.columns.items() if name not in keys and kind not in "bfr"][:2]
        columns = {f"{alias}_{kind}": kind for name, kind in made.columns.items() if name in keys}
        listed = [f"{name} as {alias}_{kind}" for name, kind in made.columns.items() if name in keys]
        for i, (name, kind) in enumerate(rest):
            columns[f"{alias}{i}_{kind}"] = kind
            listed.append(f"{self._random.choice(('min', 'max'))}({name}) as {alias}{i}_{kind}")
        columns[f"{alias}_n"] = "l"
        listed.append(f"count(*) as {alias}_n")
        return Relation(f"select {', '.join(listed)} from ({made.sql}) group by {', '.join(keys)}", columns)

    def _distinct(self, made: Relation) -> Relation:
        keys = self._some(made)
        return Relation(f"select distinct {', '.join(keys)} from ({made.sql})", {k: made.columns[k] for k in keys})

    def _counted(self, made: Relation) -> Relation:
        keys, alias = self._some(made), self._alias()
        over = f"count(*) over (partition by {', '.join(keys)})"
        return Relation(f"select *, {over} as {alias}_n from ({made.sql})", {**made.columns, f"{alias}_n": "l"})

    def _cut(self, made: Relation) -> Relation:
        # rows that a sort cannot tell apart must be the same rows, and -0.0 sorts with 0.0
        keys = [name for name, kind in made.columns.items() if kind not in "fr"]
        count = self._random.choice((1, 5, 20))
        return Relation(
            f"select {', '.join(keys)} from ({made.sql}) order by {', '.join(keys)} limit {count}",
            {key: made.columns[key] for key in keys},
        )

    def _cast(self, made: Relation) -> Relation:
        wider = {"i": "l", "h": "i", "r": "f"}
        columns, listed, alias = {}, [], self._alias()
        for name, kind in made.columns.items():
            after = wider.get(kind, kind)
            columns[f"{alias}{name}"] = after
            listed.append(
                f"cast({name} as {TYPES[after][0]}) as {alias}{name}" if after != kind else f"{name} as {alias}{name}"
            )
        return Relation(f"select {', '.join(listed)} from ({made.sql})", columns)

    def _some(self, made: Relation) -> list[str]:
        kinds = {kind: name for name, kind in made.columns.items()}  # one of each type, so that names stay apart
        return self._random.sample(list(kinds.values()), min(len(kinds), self._random.choice((1, 2, 3))))

    def _join(self, left: Relation, right: Relation) -> Relation | None:
        pairs = [
            (a, b) for a, x in left.columns.items() for b, y in right.columns.items() if (x, y) in COMPARABLE and a != b
        ]
        if not pairs or set(left.columns) & set(right.columns):
            return None
        alike = [(a, b) for a, b in pairs if left.columns[a] == right.columns[b]]
        pool = alike if alike and self._random.random() < 0.8 else pairs
        chosen = self._random.sample(pool, min(len(pool), self._random.choice((1, 1, 1, 2))))
        operators = [self._operator() for _ in chosen]
        if not {"=", "<=>"} & set(operators):
            if self._growth > 1:
                operators[0] = "="
            else:
                self._growth *= 15
        clauses = [
            f"{a} {op} {b}" if self._random.random() < 0.5 else f"{b} {FLIPPED[op]} {a}"
            for (a, b), op in zip(chosen, operators, strict=True)
        ]
        if self._random.random() < 0.1:
            a, kind = self._random.choice(list(left.columns.items()))
            clauses.append(f"{a} is not null" if kind == "b" else f"{a} >= {literal(self._random, kind, 2)}")
        how = self._random.choices(*zip(*JOINS.items(), strict=True))[0]
        columns = left.columns if how in ("left semi", "left anti") else {**left.columns, **right.columns}
        sql = (
            f"select {', '.join(columns)} from ({left.sql}) {self._alias()} {how} join ({right.sql}) "
            f"{self._alias()} on {' and '.join(clauses)}"
        )
        return Relation(sql, columns)

    def _operator(self) -> str:
        return self._random.choices(("=", "<=>", "<", "<=", ">", ">="), (80, 10, 3, 3, 3, 3))[0]

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"


FLIPPED = {"=": "=", "<=>": "<=>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
JOINS = {"inner": 60, "left": 10, "right": 10, "left semi": 10, "left anti": 6, "full": 4}
