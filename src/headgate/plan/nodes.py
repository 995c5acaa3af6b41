"""The query as frozen nodes: what Headgate needs to know of a Catalyst plan, and nothing more.

Columns are Catalyst expression ids, never names: two columns called ``id`` are two columns.
Nodes are numbered in pre-order, so a node's number is its address in the Catalyst plan it was read from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from headgate.plan.kinds import TOLD, Can, Feed, Op, Source

_UNKNOWN = 1 << 60
_OPENING = 64 * 1024  # bytes; on a local disk about half a millisecond, in an object store far more
_TABLES = (Source.DELTA, Source.ICEBERG)


@dataclass(frozen=True, slots=True)
class Column:
    """A column that a node puts out."""

    id: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Expression:
    """A plain column, a cast, or anything else (by its SQL).

    ``column`` is set for a plain column; ``cast`` and ``type`` for a cast of another expression.
    """

    references: frozenset[int] = frozenset()
    column: int | None = None
    cast: Expression | None = None
    type: str = ""
    sql: str = ""
    literal: bool = False
    deterministic: bool = True

    def unwrapped(self) -> tuple[Expression, tuple[str, ...]]:
        """Return what stands below the casts, and the types they cast to, innermost first."""
        inner, steps = self, []
        while inner.cast is not None:
            steps.append(inner.type)
            inner = inner.cast
        return inner, tuple(reversed(steps))


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One condition of several that must all hold."""

    op: Op
    sql: str = ""
    left: Expression | None = None
    right: Expression | None = None
    deterministic: bool = True


@dataclass(frozen=True, slots=True)
class Node:
    """What all nodes have. ``deterministic`` is False when something in the node or below it is not."""

    id: int
    output: tuple[Column, ...]
    children: tuple[Node, ...] = ()
    deterministic: bool = True
    streaming: bool = False
    has_subquery: bool = False
    has_unstable_subquery: bool = False
    _scans: tuple[Scan, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Keep the scans below: rules ask for them again and again."""
        below = [child.scans() for child in self.children]
        object.__setattr__(self, "_scans", below[0] if len(below) == 1 else tuple(chain.from_iterable(below)))

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, in pre-order."""
        left = [self]
        while left:  # not by recursion: rules walk the same plans again and again
            node = left.pop()
            yield node
            left.extend(reversed(node.children))

    def scans(self) -> tuple[Scan, ...]:
        """Return the scans at or below this node."""
        return self._scans

    def scanned_bytes(self) -> int:
        """Return the bytes of the files that the scans at or below this node read."""
        return sum(scan.bytes for scan in self.scans())

    def find_column(self, id: int) -> Column | None:
        """Return the output column with this expression id."""
        for column in self.output:  # rules ask hundreds of times for each query
            if column.id == id:
                return column
        return None

    def reads(self, scan: int) -> bool:
        """Whether the scan of this number is at or below this node."""
        for each in self.scans():  # noqa: SIM110 - as above
            if each.id == scan:
                return True
        return False


@dataclass(frozen=True, slots=True)
class Scan(Node):
    """A leaf; ``can`` says what can be done with it, and ``source`` only what to call it.

    ``table`` is what people call it: a table, a view, or else the folder, which is its ``path``. ``published`` has the
    publications that it is marked with, each with the name of a column. ``compares`` has the columns that a told table,
    or a reader that is told ranges, compares just as Spark does; None: all of them. A scan that ``is_target`` is what a
    MERGE writes into. ``files`` is their number where it is known without asking the store, else 0.
    """

    source: Source = Source.OTHER
    can: frozenset[Can] = frozenset()
    table: str = ""
    bytes: int = 0
    format: str = ""
    partition_columns: frozenset[str] = frozenset()
    by_field_id: bool = False
    by_position: bool = False
    path: str = ""
    published: tuple[tuple[str, str], ...] = ()
    compares: frozenset[int] | None = None
    is_target: bool = False
    files: int = 0

    def scans(self) -> tuple[Scan, ...]:
        """Return the scan itself."""
        return (self,)

    @property
    def cost(self) -> int:
        """The bytes to read, and as many for each known file as can be read while one is opened."""
        return self.bytes + self.files * _OPENING

    @property
    def is_told(self) -> bool:
        """Whether the scan is told conditions, since its files are its own."""
        return Can.PRUNE not in self.can and bool(self.can & TOLD)

    @property
    def tells_its_reader(self) -> bool:
        """Whether files are chosen, and the reader is told ranges, by which it skips parts of them itself."""
        return Can.PRUNE in self.can and Can.RANGES in self.can and Can.PUSH not in self.can

    @property
    def has_unknown_size(self) -> bool:
        """Whether nothing is known of how much there is to read: Spark then takes the largest number that it has."""
        return self.bytes >= _UNKNOWN

    @property
    def is_reported(self) -> bool:
        """Whether what the scan reads is worth a line in the report."""
        return self.reads_files or Can.RANGES in self.can

    @property
    def reads_files(self) -> bool:
        """Whether the scan reads files."""
        return self.source in (Source.PARQUET, Source.FILES, Source.NARROWED, Source.UNKNOWN_FILES, *_TABLES)

    @property
    def is_part_of_the_query(self) -> bool:
        """Whether the rows are written in the query itself, so that they are likely few."""
        return self.source in (Source.LOCAL, Source.RANGE)


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """Keeps the rows that satisfy every conjunct."""

    conjuncts: tuple[Conjunct, ...] = ()


@dataclass(frozen=True, slots=True)
class Project(Node):
    """Computes columns from each row.

    It ``is_numbered`` if the only random column has the numbers by which Spark tells the rows of a MERGE's target
    apart: they may be others when there are fewer rows.
    """

    columns: tuple[tuple[int, Expression], ...] = ()
    is_numbered: bool = False


@dataclass(frozen=True, slots=True)
class Join(Node):
    """Joins two children; ``type`` is INNER, CROSS, LEFT OUTER, RIGHT OUTER, FULL OUTER, LEFT SEMI or LEFT ANTI.

    ``smaller_bytes`` is Spark's own estimate of the smaller side: what is larger than the broadcast limit is moved.
    """

    type: str = "INNER"
    conjuncts: tuple[Conjunct, ...] = ()
    smaller_bytes: int = 0

    @property
    def left(self) -> Node:
        """The left child."""
        return self.children[0]

    @property
    def right(self) -> Node:
        """The right child."""
        return self.children[1]

    def equal_column(self, column: int, side: Node) -> Column | None:
        """Return the column of ``side`` that the join makes equal to ``column``: both plain, and of one type."""
        own = self.left.find_column(column) or self.right.find_column(column)
        for conjunct in self.conjuncts:
            if conjunct.op != Op.EQUAL or conjunct.left is None or conjunct.right is None:
                continue
            for ours, theirs in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
                if ours.column != column or theirs.column is None:
                    continue
                twin = side.find_column(theirs.column)
                if twin is not None and own is not None and twin.type == own.type:
                    return twin
        return None


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """Groups by ``keys``; ``repeatable`` when a second run gives the very same values."""

    keys: tuple[Expression, ...] = ()
    columns: tuple[tuple[int, Expression], ...] = ()
    repeatable: bool = True


@dataclass(frozen=True, slots=True)
class Window(Node):
    """Computes window functions over partitions by ``keys``."""

    keys: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Union(Node):
    """Puts the rows of its children one after another, columns by position."""


@dataclass(frozen=True, slots=True)
class Limit(Node):
    """Keeps some number of rows: whatever reaches it decides what leaves it."""


@dataclass(frozen=True, slots=True)
class Sort(Node):
    """Orders rows."""


@dataclass(frozen=True, slots=True)
class Repartition(Node):
    """Moves rows between tasks."""


@dataclass(frozen=True, slots=True)
class Other(Node):
    """A node that Headgate does not look into."""

    name: str = ""


@dataclass(frozen=True, slots=True)
class Consumer:
    """A scan column that a filter may be applied to.

    ``compared`` is the type in which the join compares; the column itself may be narrower. ``shuffles`` counts the
    operators between the scan and the join that may move rows, so that dropping rows early pays. ``by_rows`` says that
    it pays even where no file can be left out.
    """

    scan: int
    column: int
    compared: str
    shuffles: int = 0
    by_rows: bool = False


@dataclass(frozen=True, slots=True)
class PlannedFilter:
    """A filter that a join's build side will feed: where its values come from, and where they go.

    ``probe op build`` is the clause; ``build_column`` is compared after a cast to ``compared`` where ``build_cast``.
    ``reason`` is empty while the filter is alive, and says in a sentence why it was dropped otherwise.
    A filter that is ``published`` has no build side: its join is -1, and its build is the scan that bears its mark.
    ``wave`` is the round in which its build side runs before the query: builds of one wave are independent.
    """

    id: str
    join: int
    op: Op
    build: int
    build_column: int
    probe: int
    probe_expression: Expression
    compared: str
    clause: str
    consumers: tuple[Consumer, ...] = ()
    build_once_only: bool = False
    wave: int = -1
    feed: Feed = Feed.BUILD
    published: str = ""
    reason: str = ""

    @property
    def is_alive(self) -> bool:
        """Whether the filter is still wanted."""
        return not self.reason

    @property
    def title(self) -> str:
        """What people see of the filter in Spark's own pages: its name and its clause."""
        return f"{self.id} ({self.clause})"

    @property
    def is_awaited(self) -> bool:
        """Whether the query waits for the filter's build side."""
        return self.is_alive and self.feed is Feed.BUILD


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query with the filters planned for it, and the joins for which none could be planned."""

    root: Node
    filters: tuple[PlannedFilter, ...] = ()
    unfiltered: tuple[tuple[int, str], ...] = field(default=())

    def node(self, id: int) -> Node:
        """Return the node with this number."""
        return next(node for node in self.root.walk() if node.id == id)

    def nodes(self) -> dict[int, Node]:
        """Return all nodes by number."""
        return {node.id: node for node in self.root.walk()}
