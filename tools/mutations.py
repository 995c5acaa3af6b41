"""Known soundness bugs, each as a text to replace in one file and the tests that should fail then.

A text must stand in its file exactly once. Tests without Spark come first: they are fast.
"""

from __future__ import annotations

from java_mutations import JAVA_MUTATIONS
from lance_mutations import LANCE_MUTATIONS
from mutation import Mutation

ADD, TRACE = "plan/rules/add_dynamic_filters.py", "plan/rules/trace_to_scans.py"
UNSUPPORTED = "plan/rules/remove_unsupported_filters.py"
LEFT_SIDES = 'FILTERS_LEFT = frozenset({"INNER", "CROSS", "LEFT SEMI", "RIGHT OUTER"})'
SURVIVORS = ("tests/prune/test_survivors.py", "tests/prune/test_scan.py", "tests/prune/test_scan_laws.py")
DOMAINS = ("tests/domain/test_domain.py", "tests/domain/test_laws.py")
MERGER = ("tests/filters/test_merger.py",)


def _plan(name: str, file: str, text: str, replacement: str) -> Mutation:
    tests = ("tests/plan", *(("tests/domain/test_coerce.py",) if file.startswith("domain") else ()))
    return Mutation(name, file, text, replacement, tests)


PLAN = (
    _plan("outer join: the other side is filtered", ADD, LEFT_SIDES, LEFT_SIDES.replace("RIGHT OUTER", "LEFT OUTER")),
    _plan("anti join: the wrong side is filtered", ADD, LEFT_SIDES, LEFT_SIDES.replace("RIGHT OUTER", "LEFT ANTI")),
    _plan("full outer join is filtered", ADD, LEFT_SIDES, LEFT_SIDES.replace("RIGHT OUTER", "FULL OUTER")),
    _plan("a comparison is not turned round", ADD, "Op.LESS: Op.GREATER,", "Op.LESS: Op.LESS,"),
    _plan(
        "a filter passes a LIMIT",
        TRACE,
        'raise _Stopped("the scan is below a LIMIT: a filter would change which rows the LIMIT keeps")',
        "return _trace(node.children[0], column, compared, shuffles, reasons)",
    ),
    _plan(
        "all that a projection draws at random is taken for the numbers of a MERGE",
        TRACE,
        "not (isinstance(node, Project) and node.is_numbered)",
        "not isinstance(node, Project)",
    ),
    _plan(
        "a filter passes the side that is filled with NULLs",
        TRACE,
        '_PASS_RIGHT = frozenset({"INNER", "CROSS", "RIGHT OUTER"})',
        '_PASS_RIGHT = frozenset({"INNER", "CROSS", "RIGHT OUTER", "LEFT OUTER"})',
    ),
    _plan(
        "a filter on an aggregate passes the grouping",
        TRACE,
        "if isinstance(node, Aggregate) and plain not in {key.column for key in node.keys}:",
        "if isinstance(node, Aggregate) and not node.keys:",
    ),
    _plan(
        "a filter passes a window by any column",
        TRACE,
        "if column not in {key.column for key in node.keys}:",
        "if not node.keys:",
    ),
    _plan(
        "only the last of several casts is looked at",
        "plan/casts.py",
        "for after in steps:",
        "for after in steps[-1:]:",
    ),
    _plan(
        "bigint is taken to fit into double",
        "domain/coerce.py",
        "return stored in (FLOAT, TINYINT, SMALLINT, INT)",
        "return stored in (FLOAT, TINYINT, SMALLINT, INT, BIGINT)",
    ),
    _plan("a random build side is used", UNSUPPORTED, "if not node.deterministic:", "if node.streaming:"),
    _plan(
        "what cannot be read again is a build side",
        UNSUPPORTED,
        "if isinstance(node, Scan) and Can.REREAD not in node.can:",
        "if isinstance(node, Scan) and not node.can and node.source is Source.CACHE:",
    ),
    _plan(
        "a build with a LIMIT is run twice",
        UNSUPPORTED,
        "once_only = planned.feed is not Feed.PUBLISHED and _runs_differently_twice(build)",
        "once_only = False",
    ),
)


def _fast(name: str, file: str, text: str, replacement: str, tests: tuple[str, ...]) -> Mutation:
    return Mutation(name, file, text, replacement, tests)


VALUES = (
    _fast("NULL is lost in a union", "domain/domain.py", "self.null_allowed or other.null_allowed)", "False)", DOMAINS),
    _fast(
        "NULL is lost in a union of many",
        "domain/constructors.py",
        "any(d.null_allowed for d in domains)",
        "all(d.null_allowed for d in domains)",
        (*DOMAINS, *MERGER),
    ),
    _fast(
        "union is taken for intersection",
        "domain/algebra.py",
        "from_intervals(a.type, a.intervals().union(b.intervals()))",
        "from_intervals(a.type, a.intervals().intersect(b.intervals()))",
        DOMAINS,
    ),
    _fast(
        "ranges that overlap are joined too short",
        "domain/intervals.py",
        "reach = np.maximum.accumulate(highs)",
        "reach = highs",
        ("tests/domain/test_intervals.py", *DOMAINS),
    ),
    _fast(
        "a bloom forgets the span of what it is united with",
        "domain/algebra.py",
        "ranges = bloom.ranges.union(span(members).intervals())",
        "ranges = bloom.ranges",
        ("tests/domain/test_bloom.py", *DOMAINS),
    ),
    _fast(
        "NULL is lost in a cheaper form",
        "domain/limits.py",
        "return Domain(values, domain.null_allowed)",
        "return Domain(values)",
        ("tests/domain/test_limits.py",),
    ),
    _fast(
        "less than: the smallest build value is taken for the largest",
        "domain/comparison.py",
        "up_to(span.type, span.highs[0],",
        "up_to(span.type, span.lows[0],",
        ("tests/domain/test_comparison.py",),
    ),
    _fast(
        "null-safe equality drops NULL",
        "domain/comparison.py",
        'domain.with_null(op == "<=>")',
        "domain.with_null(False)",
        ("tests/domain/test_comparison.py",),
    ),
    _fast(
        "NaN is lost where a column is float",
        "domain/coerce.py",
        "narrow[(narrow == floats) | np.isnan(floats)]",
        "narrow[narrow == floats]",
        ("tests/domain/test_coerce.py",),
    ),
    _fast(
        "the end of a range is rounded too far",
        "domain/coerce.py",
        "min(high // step, stored.high)",
        "min(high // step - 1, stored.high)",
        ("tests/domain/test_coerce.py",),
    ),
    _fast(
        "a refused column leaves what came before it",
        "domain/builder.py",
        "            self._gave_up = True\n            raise",
        "            raise",
        ("tests/domain/test_builder.py",),
    ),
    _fast(
        "a cut-off text maximum is taken for a value",
        "domain/statistics.py",
        "if statistics.max_truncated and high is not None:",
        "if False:",
        ("tests/domain/test_statistics.py", "tests/domain/test_domain.py"),
    ),
)

PRUNING = (
    _fast("NaN is pruned by a range", "prune/survivors.py", "if not holds_nan(domain):", "if True:", SURVIVORS),
    _fast(
        "a cut-off maximum ends where it is cut",
        "prune/survivors.py",
        "widened[i] = end_of_prefix(highs[i])",
        "widened[i] = highs[i]",
        SURVIVORS,
    ),
    _fast(
        "an unknown number of NULLs is none",
        "prune/survivors.py",
        "keep |= bounds.nulls != 0",
        "keep |= bounds.nulls > 0",
        SURVIVORS,
    ),
    _fast(
        "unknown counts are equal, so all rows are NULL",
        "prune/survivors.py",
        "keep = (bounds.rows < 0) | (bounds.nulls != bounds.rows)",
        "keep = bounds.nulls != bounds.rows",
        SURVIVORS,
    ),
    _fast(
        "statistics that contradict themselves are believed",
        "prune/survivors.py",
        "known = (low_known | high_known) & ~_crossed(lows, highs, open_ended)",
        "known = low_known | high_known",
        SURVIVORS,
    ),
    _fast(
        "a NULL partition has a value",
        "prune/scan.py",
        "nulls = [1 if value is None else 0 for value in values]",
        "nulls = [0 for value in values]",
        SURVIVORS,
    ),
    _fast(
        "dates of the old calendar are believed",
        "tables/parquet.py",
        "if type_name in _OLDEST and not _recent(low, _OLDEST[type_name]):",
        "if type_name in _OLDEST and low is None:",
        ("tests/tables/test_parquet.py",),
    ),
    _fast(
        "the last row group of a file is cut off",
        "tables/parquet.py",
        "ends = [*starts[1:], file.size] if starts else []",
        "ends = [*starts[1:], starts[-1] + 1] if starts else []",
        ("tests/tables/test_parquet.py", *SURVIVORS),
    ),
)

FILTERS = (
    _fast(
        "published before all partitions have reported",
        "filters/merger.py",
        "len(self._reported) >= self._expected",
        "len(self._reported) >= self._expected - 1",
        MERGER,
    ),
    _fast(
        "partitions are intersected",
        "filters/merger.py",
        "merged = within_limits(column_wise_union(parts), self._limits)",
        "merged = within_limits(parts[0] & parts[-1] if parts else column_wise_union(parts), self._limits)",
        MERGER,
    ),
    _fast(
        "an empty report stands for the whole build side",
        "filters/merger.py",
        "self._open = self._open or self._parts[-1].is_all",
        "self._open = self._open or self._parts[-1].is_all or self._parts[-1].is_none",
        MERGER,
    ),
    _fast(
        "a partition that allows everything is left out",
        "domain/tuples.py",
        "filled = [part._domains for part in parts if part._domains is not None]",
        "filled = [part._domains for part in parts if part._domains]",
        (*MERGER, "tests/domain/test_tuples.py"),
    ),
    _fast(
        "a column that one partition leaves open is taken from the others",
        "domain/tuples.py",
        "union_all([part[c] for part in filled]) for c in filled[0] if c in shared",
        "union_all([part[c] for part in filled if c in part]) for c in filled[0]",
        (*MERGER, "tests/domain/test_tuples.py"),
    ),
    _fast(
        "a published filter is widened",
        "filters/dynamic_filter.py",
        "narrowed = state.domain & domain",
        "narrowed = domain",
        ("tests/filters/test_dynamic_filter.py",),
    ),
)

TOLD = (
    Mutation(
        "a source is told a list of text that it may sort otherwise",
        "catalyst/predicates.py",
        "return None if any(_is_ordered_otherwise(domain, literal) for literal in literals) else literals",
        "return literals",
        ("tests/catalyst/test_predicates.py",),
    ),
    Mutation(
        "a source is told text whose bounds may be of other bytes",
        "catalyst/predicates.py",
        "return not end.isascii()",
        'return any(character >= "\\ud800" for character in end)',
        ("tests/catalyst/test_predicates.py",),
    ),
    Mutation(
        "a range of text ends before what it stands for",
        "catalyst/predicates.py",
        "high = start[:-1] + chr(ord(start[-1]) + 1) if start else None",
        "high = start or None",
        ("tests/catalyst/test_predicates.py",),
    ),
)
SCHEDULE = ("tests/query/test_schedule.py",)
QUERIES = (
    _fast(
        "NULL is lost where <=> lets it in",
        "query/schedule.py",
        "nulls = planned.op == Op.EQUAL_NULL_SAFE and domain.null_allowed",
        "nulls = False",
        SCHEDULE,
    ),
    _fast(
        "keys of a failed build are used",
        "query/schedule.py",
        "            if result.error:\n",
        "            if result.error and not fed:\n",
        SCHEDULE,
    ),
    _fast(
        "a build that may differ is run again",
        "query/schedule.py",
        "elif not result.has_rows and any(planned.build_once_only for planned in fed):",
        "elif not result.has_rows and not fed:",
        SCHEDULE,
    ),
    _fast(
        "values that come too late are used",
        "query/schedule.py",
        "            if not self._is_open(planned):\n                return\n            used = sum(",
        "            used = sum(",
        SCHEDULE,
    ),
    _fast(
        "the NULL of a key is not unpacked",
        "catalyst/packed.py",
        "has_null, body = bool(packed[1]), packed[2:]",
        "has_null, body = False, packed[2:]",
        ("tests/collect/test_unpacking.py",),
    ),
)

OPERATIONS = "tests/graph/test_operations.py"
GRAPHS = (
    Mutation(
        "frames of one operation share a publisher",
        "graph/walk.py",
        "        publishers = _publishers(side, within)\n        self._kept",
        "        publishers = self._served(0, side, Reach((side,), frontier, within))\n        self._kept",
        (f"{OPERATIONS}::test_each_join_of_a_ring_reads_its_own_row_groups",),
        needs_spark=True,
    ),
    Mutation(
        "frontiers that meet halfway go on",
        "graph/meet.py",
        "if together and len(fresh[0] & other.last):",
        "if together and not len(fresh[0]):",
        (f"{OPERATIONS}::test_distances_odd_and_even",),
        needs_spark=True,
    ),
    Mutation(
        "many ids lose the last of each interval",
        "domain/bitmap.py",
        "+ (high in self.bits)",
        "",
        ("tests/domain/test_bitmap.py",),
    ),
)

MUTATIONS = (*PLAN, *VALUES, *PRUNING, *FILTERS, *QUERIES, *TOLD, *GRAPHS, *LANCE_MUTATIONS, *JAVA_MUTATIONS)
