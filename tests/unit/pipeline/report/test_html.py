"""A report as one HTML file."""

import re
from html.parser import HTMLParser

import pytest

pytest.importorskip("matplotlib")

from namekeeper.pipeline.errors import PipelineError
from namekeeper.pipeline.report.contents import SECTIONS, make_report
from namekeeper.pipeline.report.html import render_html
from tests.support.pipeline.report_rows import answers_of, report_rows

PAGE = render_html(make_report("UTC", SECTIONS, answers_of(report_rows())))


class Elements(HTMLParser):
    """What is in a page."""

    VOID = {"meta", "br", "img", "link", "hr"}

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
    assert not {tag for tag, _ in elements.found} & {"script", "link", "img", "iframe", "object"}
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
    assert "<script>" not in PAGE
    assert "&lt;script&gt;" in PAGE


def test_every_plot_has_its_text_and_its_own_identifiers(elements: Elements):
    plots = [attrs for tag, attrs in elements.found if tag == "svg"]
    assert len(plots) == 5
    assert all(attrs["role"] == "img" and len(str(attrs["aria-label"])) > 30 for attrs in plots)
    assert [tag for tag, _ in elements.found].count("figcaption") == 5
    identifiers = [attrs["id"] for _, attrs in elements.found if "id" in attrs]
    assert len(set(identifiers)) == len(identifiers)
    used = set(re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', PAGE))
    assert used <= set(identifiers)


def test_tables_have_heads_and_sections_have_names(elements: Elements):
    sections = {attrs["aria-labelledby"] for tag, attrs in elements.found if tag == "section"}
    assert sections == {*SECTIONS, "name-servers"}
    assert all(attrs["scope"] == "col" for tag, attrs in elements.found if tag == "th")


def test_colours_are_those_of_the_page_in_light_and_dark():
    light, dark = re.findall(r":root \{(.*?)\}", PAGE, re.DOTALL)
    names = set(re.findall(r"var\((--[\w-]+)\)", PAGE))
    assert names <= set(re.findall(r"(--[\w-]+):", light))
    assert set(re.findall(r"(--[\w-]+):", light)) == set(re.findall(r"(--[\w-]+):", dark))
    assert not re.search(r"#[01][0-9a-f]{5}\b", "".join(re.findall(r"<svg.*?</svg>", PAGE, re.DOTALL))), (
        "a sentinel stayed"
    )


def test_without_anything_known_it_is_a_page_all_the_same():
    page = render_html(make_report("UTC", SECTIONS, answers_of({name: [] for name in report_rows()})))
    assert "Nothing is known yet." in page
    assert "<svg" not in page


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(PipelineError, match=r"pip install 'namekeeper\[pipeline\]'"):
        render_html(make_report("UTC", (), {}))
