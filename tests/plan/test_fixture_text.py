"""The text of fixtures: what it means, and what is said of a text that means nothing."""

from __future__ import annotations

import pytest

from headgate.plan import QueryPlan, RuleContext, Strategy
from headgate.plan.kinds import Op
from headgate.plan.nodes import Aggregate, Conjunct, Expression, Filter, Join, Node, Project, Scan
from tests.plan.fixture_cases import FOLDER, parse_context, read_cases, rewritten, run_case
from tests.plan.fixture_text import (
    COMPARISONS,
    FixtureError,
    parse_plan,
    planned_text,
)


def only(node: Node, kind: type[Node]) -> Node:
    (found,) = [each for each in node.walk() if type(each) is kind]
    return found


def conjuncts(condition: str) -> tuple[Conjunct, ...]:
    node = parse_plan(f"Filter {condition}\n  Scan t(k int, v int, s string)")
    assert isinstance(node, Filter)
    return node.conjuncts


def test_nodes_are_numbered_by_their_lines() -> None:
    root = parse_plan("Join INNER\n  Filter a > 0\n    Scan one(a int)\n  Scan two(b int)")
    assert [(node.id, type(node).__name__) for node in root.walk()] == [
        (0, "Join"),
        (1, "Filter"),
        (2, "Scan"),
        (3, "Scan"),
    ]
    assert [column.name for column in root.output] == ["a", "b"]


def test_a_scan_in_full() -> None:
    scan = parse_plan("Scan local data(k decimal(10,2), m map<string,int>) 10KB local [streaming]")
    assert isinstance(scan, Scan)
    assert [(column.name, column.type) for column in scan.output] == [("k", "decimal(10,2)"), ("m", "map<string,int>")]
    assert (scan.table, scan.bytes, scan.streaming) == ("local data", 10 * 1024, True)


def test_columns_of_one_name() -> None:
    join = parse_plan("Join INNER id#1 = id#2\n  Scan one(id#1 int)\n  Scan two(id#2 int)")
    assert isinstance(join, Join)
    assert [column.name for column in join.output] == ["id", "id"]
    assert len({column.id for column in join.output}) == 2


def test_columns_that_are_kept_renamed_cast_and_computed() -> None:
    project = parse_plan(
        "Project k, v AS w, CAST(CAST(k AS bigint) AS string) AS s, (k + v) AS x int\n  Scan t(k int, v int)"
    )
    assert isinstance(project, Project)
    k, v = project.children[0].output
    assert [(column.name, column.type) for column in project.output] == [
        ("k", "int"),
        ("w", "int"),
        ("s", "string"),
        ("x", "int"),
    ]
    kept, renamed, cast, computed = (expression for _, expression in project.columns)
    assert (project.output[0].id, kept.column, renamed.column) == (k.id, k.id, v.id)
    assert cast.unwrapped() == (kept, ("bigint", "string"))
    assert computed == Expression(references=frozenset({k.id, v.id}), sql="(k + v)")


def test_conditions() -> None:
    found = conjuncts("k <= 5 AND k IS NOT NULL AND DYNAMIC PRUNING v AND v <> 7 AND (k = 1 AND v = 2)")
    assert [test.op for test in found] == [COMPARISONS["<="], Op.IS_NOT_NULL, Op.DYNAMIC_PRUNING, Op.OTHER, Op.OTHER]
    assert found[0].right == Expression(sql="5", literal=True)
    assert found[2].left == Expression(references=frozenset({2}), column=2)
    assert conjuncts("k = 1 OR v = 2")[0].op == Op.OTHER
    assert conjuncts("s = 'x'")[0].right == Expression(sql="'x'", literal=True)


def test_what_draws_at_random_is_not_deterministic_nor_what_stands_above_it() -> None:
    root = parse_plan("Sort k\n  Filter k > 0 AND rand() < 0.5\n    Scan t(k int)")
    below = only(root, Filter)
    assert isinstance(below, Filter)
    assert [test.deterministic for test in below.conjuncts] == [True, False]
    assert [node.deterministic for node in root.walk()] == [False, False, True]


def test_grouping() -> None:
    grouped = parse_plan("Aggregate by k, (v + 1): k, sum(v) AS total bigint [not repeatable]\n  Scan t(k int, v int)")
    assert isinstance(grouped, Aggregate)
    assert [key.column for key in grouped.keys] == [1, None]
    assert (len(grouped.columns), grouped.repeatable) == (2, False)
    whole = parse_plan("Aggregate: max(v) AS top int\n  Scan t(k int, v int)")
    assert isinstance(whole, Aggregate)
    assert whole.keys == ()


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", 1, "a plan"),
        ("Table t(k int)", 1, "one of Scan, Filter"),
        ("Filter k > 0", 1, "1 below it, not 0"),
        ("Join INNER\n  Scan t(k int)", 1, "2 below it, not 1"),
        ("Scan t(k int)\n  Scan u(l int)", 1, "0 below it, not 1"),
        ("Scan t(k int)\nScan u(l int)", 2, "a plan has one root"),
        ("Filter k > 0\n    Scan t(k int)", 2, "2 spaces of indent at most"),
        ("Filter k > 0\n   Scan t(k int)", 2, "an even number of spaces"),
        ("Scan t", 1, "Scan table(column type, …)"),
        ("Scan t(k)", 1, "a column as name and type, such as `k int`, not `k`"),
        ("Scan t(k int) 10GB", 1, "a size such as 100B"),
        ("Scan t(k int) 1MB CSV", 1, "a source, not CSV: parquet"),
        ("Scan t(k int) [warm]", 1, "a flag of Scan, not [warm]: streaming"),
        ("Scan t(k int) [not repeatable]", 1, "a flag of Scan, not [not repeatable]"),
        ("Scan t(k int) [smaller side 5MB]", 1, "a flag of Scan, not [smaller side 5MB]"),
        ("Union\n  Scan t(k int)\n  Scan u(k int)", 3, "line 2 makes a column k already; k#2 is free"),
        ("Filter j > 0\n  Scan t(k int, v int)", 1, "a column below it, not j: k, v"),
        ("Filter (k + j) > 0\n  Scan t(k int)", 1, "a column below it, not j"),
        ("Filter k > 0 AND\n  Scan t(k int)", 1, "a condition on each side of AND"),
        ("Filter\n  Scan t(k int)", 1, "a condition"),
        ("Project (k + 1)\n  Scan t(k int)", 1, "`expression AS name`, not `(k + 1)`"),
        ("Project (k + 1) AS j\n  Scan t(k int)", 1, "a type for what is computed"),
        ("Project k AS k\n  Scan t(k int)", 1, "line 2 makes a column k already"),
        ("Join OUTER\n  Scan t(k int)\n  Scan u(l int)", 1, "Join and one of INNER"),
        ("Join INNER [smaller side large]\n  Scan t(k int)\n  Scan u(l int)", 1, "a size such as 100B"),
    ],
)
def test_malformed_plans(text: str, line: int, expected: str) -> None:
    """What is wrong is said with its line, and with what was expected there."""
    with pytest.raises(FixtureError) as caught:
        parse_plan(text)
    assert str(caught.value).startswith(f"line {line}: ")
    assert expected in str(caught.value).partition("expected ")[2]


CASE = "# about\n\n=== one\n# why\nScan t(k int)\n---\nnothing planned\n"


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("Scan t(k int)\n---\n", 1, "a comment, or the title of a case"),
        ("===\nScan t(k int)\n---\n", 1, "a title after ==="),
        ("=== one\nScan t(k int)\n", 1, "a line --- and what is expected"),
        ("=== one\n---\nnothing planned\n", 1, "a plan after the title"),
        ("=== one\nScan t(k int)\n--- strategy=always\n", 3, "--- alone or --- context: "),
        (f"{CASE}\n=== one\nScan t(k int)\n---\n", 9, "another title: line 3 has this one"),
    ],
)
def test_malformed_files(text: str, line: int, expected: str) -> None:
    with pytest.raises(FixtureError) as caught:
        read_cases(text, "pipeline")
    assert str(caught.value).startswith(f"line {line}: ")
    assert expected in str(caught.value)


def test_lines_are_counted_from_the_start_of_the_file() -> None:
    (case,) = read_cases(CASE.replace("Scan t(k int)", "Filter k > 0\n  Scan t(j int)"), "pipeline")
    with pytest.raises(FixtureError, match=r"^line 5: 'Filter k > 0': expected a column below it, not k: j"):
        run_case(case, case.outcomes[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("strategy", "setting=value with one of strategy"),
        ("speed=7", "setting=value with one of strategy"),
        ("strategy=sometimes", "is not a valid Strategy"),
        ("broadcast_bytes=many", "a size such as 100B"),
        ("non_blocking=yes", "on or off"),
        ("left fact=all", "a size such as 100B"),
        ("left facts=5MB", "a table or column of the plan, not facts"),
        ("overlap fact.j=5%", "a table or column of the plan, not fact.j"),
    ],
)
def test_malformed_contexts(text: str, expected: str) -> None:
    with pytest.raises(FixtureError, match=r"^line 7: ") as caught:
        parse_context(text, parse_plan("Scan fact(k int)"), 7)
    assert expected in str(caught.value)


def test_contexts() -> None:
    root = parse_plan("Scan fact(k int, v int) 5MB")
    plain = parse_context("", root)
    assert (plain.strategy, plain.broadcast_bytes) == (RuleContext().strategy, RuleContext().broadcast_bytes)
    assert plain.clustering(0, 1).is_useful
    said = parse_context("strategy=always, broadcast_bytes=2KB, non_blocking=on, overlap=70%, overlap fact.v=9%", root)
    assert (said.strategy, said.broadcast_bytes, said.non_blocking) == (Strategy.ALWAYS, 2048, True)
    assert [said.clustering(0, column).depth for column in (1, 2)] == [0.7, 0.09]
    assert parse_context("overlap=nobody knows", root).clustering(0, 1).why_not == "nobody knows"


def test_filters_that_are_given_name_tables_of_the_plan() -> None:
    (case,) = read_cases("=== one\nScan a(k int)\ngiven: a -> b\n---\n", "order_filters")
    with pytest.raises(FixtureError, match="build -> probe with two of a"):
        run_case(case, case.outcomes[0])


def test_nodes_of_one_name_are_told_apart_by_their_numbers() -> None:
    (case,) = read_cases("=== one\nJoin LEFT OUTER a = b\n  Scan t(a int)\n  Scan t(b int)\n---\n", "trace_to_scans")
    assert run_case(case, case.outcomes[0]) == "df_0 (join 0: a = b): t#2.b = {t#1.a}"
    assert planned_text(QueryPlan(parse_plan("Scan t(a int)"))) == "nothing planned"


def test_rewriting_changes_what_is_expected_only() -> None:
    text = (
        "# about\n\n=== one\n# why\nJoin LEFT OUTER a = b\n  Scan t(a int)\n  Scan u(b int)\n"
        "---\nwrong\nagain\n--- context: strategy=always\n\n=== two\nScan t(a int)\n---\n"
    )
    told = "df_0 (join 0: a = b): u.b = {t.a}\n"
    new = text.replace("wrong\nagain\n", told).replace("always\n", f"always\n{told}") + "nothing planned\n"
    assert rewritten(text, "add_dynamic_filters") == new
    assert rewritten(new, "add_dynamic_filters") == new


def test_the_example_of_the_document_holds() -> None:
    example = (FOLDER / "README.md").read_text().split("```text\n")[1].split("```")[0]
    assert rewritten(example, "pipeline") == example
