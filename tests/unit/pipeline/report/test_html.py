"""A report as one HTML file."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

pytest.importorskip("jinja2")

from markupsafe import Markup

from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.report.contents import SECTIONS, make_report
from namekeeper.pipeline.report.html import SHAPES, render_html, unbroken
from namekeeper.pipeline.report.plots import Kind
from tests.support.pipeline.report_rows import answers_of, report_rows

PAGE = render_html(make_report("UTC", SECTIONS, answers_of(report_rows())))


class Elements(HTMLParser):
    """What is in a page."""

    VOID = {"meta", "input", "br", "img", "link", "hr"}

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def elements() -> Elements:
    parsed = Elements()
    parsed.feed(PAGE)
    parsed.close()
    assert parsed.open == []
    return parsed


def test_it_needs_nothing_from_elsewhere(elements: Elements):
    assert not {tag for tag, _ in elements.found} & {"link", "img", "iframe", "object"}
    links = [
        value
        for _, attrs in elements.found
        for name, value in attrs.items()
        if name in {"href", "src", "xlink:href"}
    ]
    assert links
    assert all(str(link).startswith("#") for link in links)
    assert not re.search(r"url\((?!#)|@import|@font-face", PAGE)


def test_names_do_not_break_out(elements: Elements):
    assert "alert(" in PAGE
    assert "<script>alert" not in PAGE
    assert "&lt;script&gt;alert" in PAGE


def test_the_policy_allows_one_script_and_one_style_sheet_and_nothing_else(elements: Elements):
    (policy,) = [
        attrs["content"] for tag, attrs in elements.found if "Content-Security-Policy" in attrs.values()
    ]
    hashes = [
        b64encode(sha256(text.encode()).digest()).decode()
        for name in ("style", "script")
        for text in re.findall(rf"<{name}>(.*?)</{name}>", PAGE, re.DOTALL)
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; base-uri 'none';"
        " form-action 'none'"
    )
    assert len(hashes) == 2
    assert not [
        name for _, attrs in elements.found for name in attrs if name == "style" or name.startswith("on")
    ]


def test_every_plot_has_its_text_and_no_identifier_is_used_twice(elements: Elements):
    plots = [attrs for _, attrs in elements.found if attrs.get("role") == "img"]
    assert len(plots) == 6
    assert all(len(str(attrs["aria-label"])) > 30 for attrs in plots)
    assert [tag for tag, _ in elements.found].count("figcaption") == 6
    identifiers = [attrs["id"] for _, attrs in elements.found if "id" in attrs]
    assert len(set(identifiers)) == len(identifiers)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', PAGE)) <= set(identifiers)


def test_every_bar_has_a_title(elements: Elements):
    tags = [tag for tag, _ in elements.found]
    assert tags.count("title") > 10
    assert "b0 away, 2026-03-01 00:00:00Z to 2026-03-01 01:00:00Z</title>" in PAGE


def test_all_plots_have_the_same_axis():
    axes = re.findall(r'<svg class="axis".*?</svg>', PAGE, re.DOTALL)
    assert len(axes) == 6
    assert len(set(axes)) == 1


def test_tables_have_heads_and_sections_have_names(elements: Elements):
    sections = {attrs["aria-labelledby"] for tag, attrs in elements.found if tag == "section"}
    assert sections == {*SECTIONS, "name-servers"}
    assert all(attrs["scope"] == "col" for tag, attrs in elements.found if tag == "th")


def test_long_tables_and_long_lists_of_names_are_folded():
    topic = {**report_rows()["topics"][0], "unknown_ms": 0}
    topics = [{**topic, "topic": f"same-{number}"} for number in range(9)]
    topics += [{**topic, "topic": f"other-{number}", "unknown_ms": number} for number in range(1, 31)]
    page = render_html(
        make_report("UTC", ["topics"], answers_of({"boots": report_rows()["boots"], "topics": topics}))
    )
    assert "<summary>and 6 more</summary>same-3, same-4" in page
    assert "<summary>19 more rows</summary>" in page


def test_no_line_ends_at_the_hyphen_of_a_short_name():
    long = "a-" * 30
    assert unbroken("broker-d away") == '<span class="unbroken">broker-d</span> away'
    assert unbroken(f"{long} <b-c>") == f"{long} &lt;b-c&gt;".replace(
        "&lt;b-c&gt;", '<span class="unbroken">&lt;b-c&gt;</span>'
    )
    assert unbroken(Markup("<i a-b>x</i>")) == "<i a-b>x</i>"


def test_a_mark_is_told_by_its_shape_and_not_by_its_colour_alone():
    shapes = {kind: SHAPES[kind] for kind in (Kind.UP, Kind.DOWN, Kind.UNKNOWN)}
    assert len(set(shapes.values())) == len(shapes)
    patterns = re.findall(r"rect\.([\w-]+)[^{]*\{ fill: (url|none)", PAGE)
    assert {kind for kind, _ in patterns} >= {"went", "unknown", "unregistered", "notice", "server"}


def test_colours_are_those_of_the_page_in_light_in_dark_and_in_print():
    themes = [
        set(re.findall(r"(--[\w-]+):", theme)) for theme in re.findall(r":root \{(.*?)\}", PAGE, re.DOTALL)
    ]
    assert len(themes) == 3
    assert themes[0] == themes[1] == themes[2] == set(re.findall(r"var\((--[\w-]+)\)", PAGE))


def test_without_anything_known_it_is_a_page_all_the_same():
    page = render_html(make_report("UTC", SECTIONS, answers_of({name: [] for name in report_rows()})))
    assert "Nothing is known of this time." in page
    assert "<svg" not in page


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(PipelineError, match=r"pip install 'namekeeper\[pipeline\]'"):
        render_html(make_report("UTC", (), {}))
