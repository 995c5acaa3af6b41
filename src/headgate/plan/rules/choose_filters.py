"""Keep the filters that pay: a cheap build side that may be selective, and a scan that can be narrowed by the column.

    df_0: fact.k = {dim where x > 0}     kept
    df_1: dim.id = {fact}                dropped: the scan is too small to pay for a filter: 1.0 MB

A filter pays if it saves the scan more than its build costs. Before anything has run, sizes decide (the bytes
that the build side scans, against those of the probe scan and the opening of its files) and how well files and row
groups separate the values of the column. A filter whose scan is small is kept all the same when that scan is part of
the build side of a filter that pays: that is how nation -> supplier -> lineitem cascades.
Where a column's values lie in all files, a filter may still pay by rows: those that are dropped at the scan need not be
shuffled for the join. A build side that is too dear to run twice may be tapped instead, where the scan is worth it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headgate.plan.context import RuleContext, Strategy
from headgate.plan.kinds import EQUALITIES, Can, Feed, Op
from headgate.plan.nodes import Aggregate, Consumer, Filter, Join, Limit, Node, PlannedFilter, QueryPlan, Scan, Window
from headgate.plan.shrink import shrunk
from headgate.plan.sizes import readable_bytes
from headgate.plan.taps import WHOLE_NUMBERS, may_tap

OTHER_DIRECTION = "the other direction of the join is cheaper: "
_KEEPS_KEYS = (Op.IS_NOT_NULL, Op.DYNAMIC_PRUNING)
_LARGER, _FAR_LARGER = 0.9, 0.05
_LARGE = 8  # times the smallest scan that is worth a filter
_ANYWAY = "spark.headgate.strategy=always filters it anyway"


@dataclass(frozen=True, slots=True)
class _Objection:
    """Why a filter is not worth a run of its build side; it may still be worth a tap."""

    reason: str
    may_tap: bool = False


def choose_filters(plan: QueryPlan, context: RuleContext) -> QueryPlan:
    """Drop filters that would not pay; of two directions over one clause keep the cheaper."""
    nodes = plan.nodes()
    published = tuple(_tests_rows(f, nodes) for f in plan.filters if f.feed is Feed.PUBLISHED)
    plan = replace(plan, filters=tuple(f for f in plan.filters if f.feed is not Feed.PUBLISHED))
    whole = {planned.id: planned for planned in plan.filters}
    alive = [planned for planned in plan.filters if planned.is_alive]
    filters = whole | {
        planned.id: _by_rows(_shrunk(planned, alive, nodes, context), nodes, context) for planned in alive
    }
    if context.strategy is not Strategy.ALWAYS:
        _drop_unpromising(filters, whole, nodes, context)
    _keep_one_direction(filters, nodes)
    if context.never_waits and context.non_blocking:
        for name in [planned.id for planned in filters.values() if planned.is_alive]:
            large = not _is_small(nodes[whole[name].build], context)
            if large and may_tap(whole[name], nodes, context.broadcast_bytes):
                filters[name] = _tapped(whole[name])
    return replace(plan, filters=(*filters.values(), *published))


def _tests_rows(planned: PlannedFilter, nodes: dict[int, Node]) -> PlannedFilter:
    """Who publishes values wants them used: rows are tested as well, wherever that can be done late."""
    consumers = []
    for to in planned.consumers:
        column = nodes[to.scan].find_column(to.column)
        consumers.append(replace(to, by_rows=column is not None and column.type in WHOLE_NUMBERS))
    return replace(planned, consumers=tuple(consumers))


def _shrunk(
    planned: PlannedFilter, alive: list[PlannedFilter], nodes: dict[int, Node], context: RuleContext
) -> PlannedFilter:
    """What is small is built whole: its rows can take its place in the query, so that it runs once."""
    return planned if _is_small(nodes[planned.build], context) else shrunk(planned, nodes, alive, _may_select)


def _by_rows(planned: PlannedFilter, nodes: dict[int, Node], context: RuleContext) -> PlannedFilter:
    """Mark the scans whose rows are worth a test each, although every file may hold rows that pass."""
    if planned.op not in EQUALITIES or not context.filter_rows:
        return planned
    if planned.build_once_only and not _is_small(nodes[planned.build], context):
        return planned  # its rows would be too many to keep, and its keys of no use
    consumers = [replace(to, by_rows=_rows_pay(to, planned, nodes, context)) for to in planned.consumers]
    return replace(planned, consumers=tuple(consumers))


def _rows_pay(to: Consumer, planned: PlannedFilter, nodes: dict[int, Node], context: RuleContext) -> bool:
    """Whether rows that are dropped at a scan are spared a shuffle, and are worth a build.

    Only joins count: what an aggregate moves is grouped before. Below a shuffle, joins with small selective sides have
    dropped rows already; what is left of them is worth a small build only.
    """
    scan = nodes[to.scan]
    assert isinstance(scan, Scan)
    column = scan.find_column(to.column)
    if column is None or column.type not in WHOLE_NUMBERS:
        return False
    share = _LARGER
    for join, other in _joins_above(scan, planned, nodes):
        if join.smaller_bytes > context.broadcast_bytes:
            if context.strategy is Strategy.ALWAYS:
                return True
            return scan.bytes >= _LARGE * context.min_scan_bytes and _is_cheaper(
                nodes[planned.build], scan, share, context
            )
        if join.type in ("INNER", "LEFT SEMI") and _may_select(other):
            share = min(share, _FAR_LARGER)
    return False


def _is_cheaper(build: Node, scan: Scan, share: float, context: RuleContext) -> bool:
    """Whether a build side reads at most a share of what its scan has left; to group takes longer than to read."""
    if any(isinstance(node, Aggregate | Window) for node in build.walk()):
        share = min(share, context.max_build_share)
    return sum(map(context.bytes_left, build.scans())) <= share * context.bytes_left(scan)


def _joins_above(scan: Scan, planned: PlannedFilter, nodes: dict[int, Node]) -> list[tuple[Join, Node]]:
    """Return the joins from a scan up to the filter's own, each with the side that the scan is not on."""
    found, node = list[tuple[Join, Node]](), nodes[planned.join]
    while below := next((child for child in node.children if child.reads(scan.id)), None):
        if isinstance(node, Join):
            found.append((node, node.right if below is node.left else node.left))
        node = below
    return found[::-1]


def _drop_unpromising(
    filters: dict[str, PlannedFilter], whole: dict[str, PlannedFilter], nodes: dict[int, Node], context: RuleContext
) -> None:
    alive = [planned for planned in filters.values() if planned.is_alive]
    selective = _selective_builds(alive, nodes, context)
    verdicts = {f.id: _judged(f, selective, nodes, context) for f in alive}
    kept = {name for name, objection in verdicts.items() if objection is None}
    while True:
        build_scans = {scan.id for name in kept for scan in nodes[filters[name].build].scans()}
        feeding = {
            f.id
            for f in filters.values()
            if f.is_alive
            and f.id not in kept
            and any(c.scan in build_scans for c in f.consumers)
            and f.build in selective
            and _is_small(nodes[f.build], context)
        }
        if not feeding:
            break
        kept |= feeding
    for name, objection in verdicts.items():
        if objection is not None and name not in kept:
            tapped = objection.may_tap and _tap_pays(whole[name], nodes, context)
            filters[name] = _tapped(whole[name]) if tapped else replace(filters[name], reason=objection.reason)


def _tapped(planned: PlannedFilter) -> PlannedFilter:
    return replace(planned, feed=Feed.TAP)


def _tap_pays(planned: PlannedFilter, nodes: dict[int, Node], context: RuleContext) -> bool:
    """Whether a scan is worth a tap: large, and clustered in the column or much larger than the build side.

    The join shuffles both sides, so where no file can be left out, rows that are dropped at the scan are not moved.
    """
    build = nodes[planned.build]
    if not context.non_blocking or _is_small(build, context) or not may_tap(planned, nodes, context.broadcast_bytes):
        return False
    return any(_consumer_is_worth_a_tap(to, planned, nodes, context) for to in planned.consumers)


def _consumer_is_worth_a_tap(
    to: Consumer, planned: PlannedFilter, nodes: dict[int, Node], context: RuleContext
) -> bool:
    scan = nodes[to.scan]
    assert isinstance(scan, Scan)
    if Can.GATE not in scan.can:  # such scans take filters at planning only
        return False
    if scan.bytes < _LARGE * context.min_scan_bytes or nodes[planned.build].scanned_bytes() > scan.bytes:
        return False
    return context.clustering(to.scan, to.column).is_useful or (
        context.filter_rows and _rows_pay(to, planned, nodes, context)
    )


def _selective_builds(alive: list[PlannedFilter], nodes: dict[int, Node], context: RuleContext) -> set[int]:
    """Return the builds that may lack keys: by themselves, or because a small selective build narrows their scans."""
    selective = {f.build for f in alive if _may_select(nodes[f.build])}
    grown = True
    while grown:
        narrowed = {
            c.scan
            for f in alive
            if f.build in selective
            for c in f.consumers
            if c.by_rows or _is_small(nodes[f.build], context)
        }
        more = {f.build for f in alive if any(scan.id in narrowed for scan in nodes[f.build].scans())} - selective
        selective |= more
        grown = bool(more)
    return selective


def _is_small(build: Node, context: RuleContext) -> bool:
    return build.scanned_bytes() <= context.broadcast_bytes


def _judged(
    planned: PlannedFilter, selective: set[int], nodes: dict[int, Node], context: RuleContext
) -> _Objection | None:
    into = [nodes[consumer.scan] for consumer in planned.consumers]
    # a MERGE brings changes, and changes are few beside what they change
    if planned.build not in selective and not any(isinstance(scan, Scan) and scan.is_target for scan in into):
        return _Objection("the build side has no predicate, so it keeps every key")
    objections = [_objection(consumer, planned, nodes, context) for consumer in planned.consumers]
    return None if None in objections else objections[0]


def _objection(
    consumer: Consumer, planned: PlannedFilter, nodes: dict[int, Node], context: RuleContext
) -> _Objection | None:
    scan, build_bytes = nodes[consumer.scan], nodes[planned.build].scanned_bytes()
    assert isinstance(scan, Scan)
    if _is_small(nodes[planned.build], context) and _is_pruned_by_spark(consumer, nodes):
        return _Objection("Spark already prunes these partitions with the broadcast of the build side")
    if consumer.by_rows:
        return None
    if scan.has_unknown_size and not _is_small(nodes[planned.build], context):
        size = readable_bytes(build_bytes)
        return _Objection(f"the build side reads {size} for a scan of unknown size: {scan.table}; {_ANYWAY}")
    if scan.cost < context.min_scan_bytes:
        return _Objection(f"the scan is too small to pay for a filter: {readable_bytes(scan.bytes)}; {_ANYWAY}")
    if build_bytes > context.max_build_share * scan.cost:
        sizes = f"it reads {readable_bytes(build_bytes)} to narrow a scan of {readable_bytes(scan.bytes)}"
        return _Objection(f"the build side costs too much: {sizes}; {_ANYWAY}", may_tap=True)
    clustering = context.clustering(consumer.scan, consumer.column)
    if clustering.why_not:
        return _Objection(clustering.why_not)
    if not clustering.is_useful:
        mixed = f"{clustering.depth:.0%} of {clustering.containers} row groups overlap in this column"
        return _Objection(
            f"a filter would skip nothing: {mixed}; sort or cluster the table by it; headgate advise says how",
            may_tap=True,
        )
    return None


def _is_pruned_by_spark(consumer: Consumer, nodes: dict[int, Node]) -> bool:
    """Whether Spark's own dynamic pruning is on the very column: a second filter would only list the files again."""
    for node in nodes.values():
        if isinstance(node, Filter):
            own = (test.left for test in node.conjuncts if test.op == Op.DYNAMIC_PRUNING and test.left is not None)
            if any(key.unwrapped()[0].column == consumer.column for key in own) and node.reads(consumer.scan):
                return True
    return False


def _keep_one_direction(filters: dict[str, PlannedFilter], nodes: dict[int, Node]) -> None:
    """Both directions of one clause would wait for each other; the side that reads less is built."""
    by_join: dict[int, PlannedFilter] = {}
    for planned in filters.values():
        if not planned.is_alive:
            continue
        other = by_join.get(planned.join)
        if other is None or other.probe == planned.probe:
            by_join.setdefault(planned.join, planned)
            continue
        loser = max(planned, other, key=lambda f: _rank(f, nodes))
        winner = planned if loser is other else other
        by_join[planned.join] = winner
        for f in list(filters.values()):
            if f.is_alive and f.join == loser.join and f.probe == loser.probe:
                filters[f.id] = replace(f, reason=f"{OTHER_DIRECTION}{winner.id}")


def _rank(planned: PlannedFilter, nodes: dict[int, Node]) -> tuple[int, int]:
    return nodes[planned.build].scanned_bytes(), -nodes[planned.probe].scanned_bytes()


def _may_select(build: Node) -> bool:
    """Whether the build side may lack keys that the probe side has: something in it removes rows."""
    for node in build.walk():
        match node:
            case Filter(conjuncts=conjuncts):
                if any(conjunct.op not in _KEEPS_KEYS for conjunct in conjuncts):
                    return True
            case Limit():
                return True
            case Scan() if node.is_part_of_the_query:
                return True
            case Join(type="LEFT SEMI" | "LEFT ANTI"):
                return True
    return False
