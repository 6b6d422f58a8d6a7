"""The HTML report in a real browser, without a network."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from namekeeper.pipeline.report.text import render_text
from namekeeper.pipeline.report.values import Report

WIDTHS = (1_400, 400)
BETWEEN = (1_200, 1_024, 834)
CUT = """[...document.querySelectorAll("body *")].filter((each) =>
    each.clientWidth > 1 && each.scrollWidth > each.clientWidth && !each.closest("svg, thead")
    && getComputedStyle(each).display !== "inline").map((each) => each.outerHTML.slice(0, 200))"""
"""Elements whose content is wider than they are; heads of tables are for screen readers alone on a phone."""


@contextmanager
def opened(browser: Any, path: Path, width: int = 1_400, **options: Any) -> Iterator[Any]:
    """A page that asks for nothing and complains of nothing."""
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
    page = context.new_page()
    asked: list[str] = []
    output: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: output.append(message.text))
    page.on("pageerror", lambda error: output.append(str(error)))
    page.goto(path.as_uri())
    yield page
    assert {url.partition("#")[0] for url in asked} == {path.as_uri()}
    assert output == []
    context.close()


def visible_rows(page: Any, within: str) -> int:
    return page.locator(f"{within} tbody tr:visible").count()


FIVE = [
    "broker-a away",
    "permission to write to broker-b wiped",
    "3 brokers went together: broker-b, broker-c, broker-d",
    "name server ns-2_9876 down",
    "name servers disagreed about broker-d: ns-2_9876 differed",
]


def test_the_five_incidents_of_a_day_are_its_first_five_rows(browser: Any, pages: dict[str, Path]):
    with opened(browser, pages["five"]) as page:
        rows = page.locator("tbody tr").all()[:5]
        assert [row.locator("td").nth(1).inner_text() for row in rows] == FIVE


def test_the_five_incidents_of_a_day_are_the_first_five_rows_of_the_text(five: Report):
    text = render_text(five)
    rows = text[text.index("-----") :].splitlines()[1:6]
    assert [next(what for what in FIVE if what in row) for row in rows] == FIVE


@pytest.mark.parametrize("width", [*WIDTHS, *BETWEEN])
@pytest.mark.parametrize("name", ["five", "fleet"])
def test_nothing_is_cut(browser: Any, pages: dict[str, Path], name: str, width: int):
    with opened(browser, pages[name], width) as page:
        page.locator("#unfold").click()
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert page.evaluate(CUT) == []
        assert "…" not in page.locator("body").inner_text()
        outside = page.evaluate(
            """[...document.querySelectorAll("figure text")].filter((each) => {
                const box = each.getBoundingClientRect();
                return box.width && (box.left < 0 || box.right > innerWidth);
            }).map((each) => each.textContent)"""
        )
        assert outside == []


@pytest.mark.parametrize("name", ["five", "fleet"])
def test_on_a_phone_what_a_cell_says_is_beside_its_title_all_of_it(
    browser: Any, pages: dict[str, Path], name: str
):
    with opened(browser, pages[name], 400) as page:
        page.locator("#unfold").click()
        cells, below = page.evaluate(
            """(() => {
                const cells = [...document.querySelectorAll("td")].filter((each) => each.offsetHeight);
                return [cells.length, cells.filter((each) => {
                    const range = document.createRange();
                    range.selectNodeContents(each);
                    const begin = each.getBoundingClientRect().left + 120;
                    return [...range.getClientRects()].some((box) => box.width && box.left < begin);
                }).map((each) => each.textContent)];
            })()"""
        )
        assert cells > 50
        assert below == []


@pytest.mark.parametrize("width", WIDTHS)
def test_times_on_an_axis_do_not_overlap(browser: Any, pages: dict[str, Path], width: int):
    with opened(browser, pages["five"], width) as page:
        spans = page.evaluate(
            """[...document.querySelector("svg.axis").querySelectorAll("g")].map((each) =>
                each.getBoundingClientRect()).filter((box) => box.width).map((box) => [box.left, box.right])"""
        )
        assert len(spans) >= 3
        assert all(one[1] < other[0] for one, other in pairwise(spans))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_legible(browser: Any, pages: dict[str, Path], scheme: str):
    with opened(browser, pages["five"], color_scheme=scheme) as page:
        ink, paper = (
            page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor")
        )
        label = page.evaluate("getComputedStyle(document.querySelector('figure svg text')).fill")
        assert contrast(ink, paper) > 7
        assert contrast(label, paper) > 7
        for kind in ("up", "down"):
            mark = page.evaluate(f"getComputedStyle(document.querySelector('rect.{kind}')).fill")
            assert contrast(mark, paper) > 3


def test_a_search_shows_the_rows_that_have_it_and_unfolds_them(browser: Any, pages: dict[str, Path]):
    with opened(browser, pages["fleet"]) as page:
        before = page.locator("details.fold[open]").count()
        page.fill("#search", "broker-007")
        rows = page.locator("tbody tr:visible").all()
        assert len(rows) > 2
        assert all("broker-007" in (row.text_content() or "") for row in rows)
        assert page.inner_text("#status") == f"{len(rows)} rows shown"
        page.fill("#search", "no such name")
        assert page.inner_text("#status") == "0 rows shown"
        page.fill("#search", "")
        assert page.inner_text("#status") == ""
        assert page.locator("details.fold[open]").count() == before


def test_a_search_finds_names_that_are_folded(browser: Any, pages: dict[str, Path]):
    with opened(browser, pages["fleet"]) as page:
        name = page.locator("details.names").first.text_content().split(", ")[-1].strip()
        assert not page.get_by_text(name).first.is_visible()
        page.fill("#search", name)
        assert page.locator("details.names[open]").first.is_visible()


def test_changes_are_filtered_by_broker_cause_and_hour_together(browser: Any, pages: dict[str, Path]):
    with opened(browser, pages["fleet"]) as page:
        others = visible_rows(page, "#availability-rows, table.availability")
        page.fill("input[name=broker]", "broker-001")
        page.select_option("select[name=cause]", "broker registered")
        both = visible_rows(page, "#changes-rows")
        page.select_option("select[name=hour]", "2026-03-01 05:00")
        assert 0 < visible_rows(page, "#changes-rows") < both
        assert page.inner_text("#status") == f"{visible_rows(page, '#changes-rows')} changes shown"
        assert page.locator("#changes-rows details.fold:visible").count() == 1
        assert visible_rows(page, "#availability-rows, table.availability") == others
        page.click("button[type=reset]")
        # Not wait_for_function: the page's policy forbids what it evaluates from its second try on.
        page.locator("#status:empty").wait_for(state="attached")
        assert page.locator("#changes-rows details.fold:visible").count() == 24


def test_changes_of_one_topic_are_found(browser: Any, pages: dict[str, Path]):
    with opened(browser, pages["fleet"]) as page:
        topic = (
            page.locator("#changes-rows [data-column=topics]", has_text="added-").first.text_content().strip()
        )
        page.fill("input[name=topic]", topic.split(",")[0])
        assert visible_rows(page, "#changes-rows") >= 1


def test_sections_are_folded_and_a_link_unfolds_its_section(browser: Any, pages: dict[str, Path]):
    with opened(browser, pages["five"]) as page:
        page.click("#fold")
        assert page.locator("tbody tr:visible").count() == 0
        page.click("nav a[href='#capacity']")
        page.locator("table.capacity").wait_for(state="visible")


def test_without_its_script_it_says_the_same(browser: Any, pages: dict[str, Path]):
    with opened(browser, pages["five"], java_script_enabled=False) as page:
        assert not page.locator("#search").is_visible()
        assert not page.locator("#filters").is_visible()
        assert page.locator("table.incidents tbody tr:visible").count() == 5
        page.locator("#changes-rows summary").first.click()
        assert page.locator("#changes-rows tbody tr:visible").count() > 0


def test_on_paper_there_is_nothing_to_click_and_the_ink_is_dark(browser: Any, pages: dict[str, Path]):
    with opened(browser, pages["five"], 794, color_scheme="dark") as page:
        page.emulate_media(media="print")
        for selector in ("nav", "#search", "#filters"):
            assert not page.locator(selector).first.is_visible()
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert page.locator("table.incidents tbody tr:visible").count() == 5


@pytest.mark.parametrize(("scheme", "width"), [("light", 1_400), ("dark", 400)])
def test_everybody_can_read_it(browser: Any, pages: dict[str, Path], scheme: str, width: int):
    with opened(browser, pages["five"], width, color_scheme=scheme, bypass_csp=True) as page:
        page.locator("#unfold").click()
        assert hindrances(page) == []
        page.evaluate(
            "document.querySelector('select[name=cause]').parentElement.replaceWith('What happened')"
        )
        page.evaluate("document.querySelector('#filters').append(document.createElement('select'))")
        assert hindrances(page) == ["select-name"], "a field without a name is seen"


def hindrances(page: Any) -> list[str]:
    """What axe-core has against a page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page)
    return [each["id"] for each in found.response["violations"]]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG has it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
