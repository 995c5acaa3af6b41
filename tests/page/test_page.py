"""The page in a browser: a session that runs, and event logs of any size; keyboard, phone, light and dark."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headgate.history import PartRecord, QueryRecord
from headgate.observe import FilterReport, FilterState, JoinReport, PlanLine, ScanReport
from headgate.observe.explain import LineKind
from headgate.page import document
from tests.batch.differential import enabled
from tests.batch.moments import filters_first
from tests.batch.tables import write_rows

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.xdist_group("page")  # one browser is enough

QUERY = "select k from page_fact join (select * from page_dim where grp = 3) d on k = id"


def many_files(count: int) -> PartRecord:
    """A join whose fact table has many files, every seventh of which is read."""
    runs = [1, 6] * (count // 7) + [count % 7]
    scan = ScanReport(
        "data/fact", 2, count, -(-count // 7), filters=["df_0"], file_runs=runs, bytes_total=9, bytes_read=1
    )
    return PartRecord(
        plan=[
            PlanLine(0, 1, LineKind.JOIN, "Join INNER  k = id", "feeds df_0"),
            PlanLine(1, 2, LineKind.SCAN, "Scan fact", "df_0"),
            PlanLine(1, 3, LineKind.OTHER, "Filter flag = 7", ""),
            PlanLine(2, 4, LineKind.SCAN, "Scan dim", ""),
        ],
        filters=[FilterReport("df_0", "k = id", "k", "set", FilterState.APPLIED, 3, 96, 12, ["fact"], build=3)],
        scans=[scan, ScanReport("dim", 4, 1, 1, reason="no join sends a filter to this scan", file_runs=[1])],
        joins=[JoinReport(5, "INNER", "a = b", [], "the build side keeps every key; filter it")],
    )


def query(number: int, **more) -> QueryRecord:
    given: dict[str, Any] = {
        "state": "FINISHED",
        "started": 1.7e9 + number,
        "ended": 1.7e9 + number + 0.5,
        "text": f"select {number} from fact",
    }
    return QueryRecord(id=f"app/{number}", **(given | more))


def opened(page: Page, folder: Path, *records: QueryRecord) -> Page:
    """Open a report of records as a file."""
    path = folder / "report.html"
    path.write_text(document([msgspec.json.encode(record) for record in records]), encoding="utf-8")
    page.goto(path.as_uri())
    return page


@pytest.mark.slow
def test_a_running_session(spark: SparkSession, page: Page, tmp_path: Path) -> None:
    """A query is on the page while it runs, with its plan and its filter, and ends there when it ends."""
    from playwright.sync_api import expect

    whole = pa.int64()
    write_rows(tmp_path / "page_fact", {"k": (whole, lambda i: i)}, range(1000), files=10)
    write_rows(tmp_path / "page_dim", {"id": (whole, lambda i: i * 7), "grp": (whole, lambda i: i % 23)}, range(50))
    for name in ("page_fact", "page_dim"):
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    os.mkfifo(held := tmp_path / "held")
    spark.udf.register("held", lambda number: len(held.read_text()) + number, "bigint")
    frame = spark.sql(
        f"select count(*) from ({QUERY}) cross join (select held(id) h from range(0, 1, 1, 1)) where h > 0"
    )
    with enabled(spark, strategy="always") as gate:
        page.goto(gate.page_url)
        expect(page.locator("#status")).to_have_text("live")
        running = Thread(target=frame.collect)
        running.start()
        row = page.locator("#items a", has_text="select count(*)")
        expect(row.locator(".state")).to_have_text("running", timeout=30_000)
        expect(page.locator(".plan .scan", has_text="Scan page_fact")).to_be_visible()
        expect(page.locator(".chip").first).to_contain_text("df_0")
        held.write_text("on")
        running.join()
        expect(row.locator(".state")).to_have_text("finished", timeout=30_000)


def test_a_scan_that_late_filters_narrow_has_its_strips(spark: SparkSession, page: Page, tmp_path: Path) -> None:
    """Keys 300 and 310 lie in the fourth of ten files, in the first of its two row groups."""
    whole = pa.int64()
    write_rows(tmp_path / "strip_fact", {"k": (whole, lambda i: i)}, range(1000), files=10, groups=2)
    write_rows(tmp_path / "strip_dim", {"id": (whole, lambda i: 300 + i * 10), "x": (whole, lambda i: i)}, range(2))
    for name in ("strip_fact", "strip_dim"):
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)
    query = "select k from strip_fact join (select * from strip_dim where x < 9) d on k = id"
    with filters_first(), enabled(spark, strategy="always", max_wait="0s", non_blocking=True) as gate:
        assert len(spark.sql(query).collect()) == 2
        gate._bridge.queries.await_ends()
        records = gate.history.since(0)[1]
    (tmp_path / "late.html").write_text(document(records), encoding="utf-8")
    page.goto((tmp_path / "late.html").as_uri())
    assert page.get_by_text("1 of 10 files left to be read").is_visible()
    assert page.get_by_text("1 of 20 row groups left to be read").is_visible()


def test_a_page_without_its_token_says_so(spark: SparkSession, browser) -> None:
    with enabled(spark) as gate:
        answer = browser.new_context().new_page().goto(gate.url + "/")
        assert answer.status == 401


def test_the_page_can_be_switched_off(spark: SparkSession, browser) -> None:
    with enabled(spark, page=False) as gate:
        answer = browser.new_context().new_page().goto(f"{gate.url}/?token={gate.token}")
        assert answer.status == 404
        assert "spark.headgate.page is false" in answer.text()


def test_a_query_is_read_from_top_to_bottom(page: Page, tmp_path: Path) -> None:
    """Its plan with arrows, the strip of its files, its timeline, and why not."""
    opened(page, tmp_path, query(1, parts=[many_files(64)]))
    assert page.locator(".plan li").all_inner_texts()[0].startswith("Join INNER")
    assert page.locator(".plan svg path").count() == 2
    assert "df_0" in (page.locator(".plan svg").get_attribute("aria-label") or "")
    assert page.get_by_text("10 of 64 files left to be read").is_visible()
    assert page.get_by_role("heading", name="When").is_visible()
    why = page.locator(".why").all_inner_texts()
    assert any("the build side keeps every key" in text for text in why)
    assert any("no join sends a filter" in text for text in why)


def test_a_thousand_queries_and_a_scan_of_ten_thousand_files(page: Page, tmp_path: Path) -> None:
    """The list has them all, newest first; a search narrows it; the strip of the large scan has its colours."""
    records = [query(number) for number in range(999)]
    large = many_files(10_000)
    large.scans[0].file_runs = [0, 5_000, 5_000]
    opened(page, tmp_path, *records, query(999, text="select large from fact", parts=[large]))
    assert page.locator("#items a").count() == 1000
    assert "select large" in page.locator("#items a").first.inner_text()
    drawn = page.locator("canvas").first.evaluate(
        """canvas => {
            const pixels = canvas.getContext('2d').getImageData(0, 8, canvas.width, 1).data;
            return new Set([...Array(canvas.width).keys()].map(i => pixels.slice(4 * i, 4 * i + 3).join())).size;
        }"""
    )
    assert drawn == 2
    page.keyboard.press("/")
    page.keyboard.type("select 777")
    assert page.locator("#items a").count() == 1


def test_the_keyboard_goes_through_the_list(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, *(query(number) for number in range(3)))
    assert "select 2" in page.locator("#items a[aria-current=true]").inner_text()
    page.keyboard.press("j")
    assert "select 1" in page.locator("#detail pre").inner_text()
    page.keyboard.press("k")
    assert "select 2" in page.locator("#detail pre").inner_text()


def test_light_and_dark(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, query(1))
    colours = []
    for _ in range(2):
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.keyboard.press("t")
    assert colours[0] != colours[1]


def test_a_phone_shows_the_list_and_then_the_query(page: Page, tmp_path: Path) -> None:
    """Nothing is wider than the screen, and there is a way back."""
    page.set_viewport_size({"width": 390, "height": 800})
    opened(page, tmp_path, query(1, parts=[many_files(64)]))
    assert not page.locator("#detail").is_visible()
    page.locator("#items a").first.click()
    assert not page.locator("#list").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_text("Back to the list").click()
    page.locator("#list").wait_for()


def test_a_text_cannot_break_the_page(page: Page, tmp_path: Path) -> None:
    """SQL is text, whatever stands in it."""
    text = "select '</script><script>document.title = 1</script><b>' from fact"
    opened(page, tmp_path, query(1, text=text, parts=[many_files(7)]))
    assert page.locator("#detail pre").inner_text() == text
    assert page.title() == "Headgate"
