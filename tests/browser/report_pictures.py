"""Makes pictures of the report: `make report-pictures`.

Those in docs/images show the day with five incidents that the tests have too, so whoever changes the page makes
them again. With `--all FOLDER` it takes every view that somebody should look at after a change of the page: that
day, a fleet of 122 brokers and further pages (`--page demo-report.html`), on a screen and on a phone, light, dark
and on paper.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.html import render_html
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from tests.support.pipeline.days import Day, day_of_fleet, day_with_five_incidents, write_day
from tests.support.pipeline.file_warehouse import tables_at
from tests.support.system.browser import CHROMIUM, opened_browser

__all__ = ["Picture", "main", "views"]

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
WIDTHS = (1_400, 400)
PAPER_WIDTH = 794
"""A4 in pixels."""
MOST_HEIGHT = 12_000
"""Of a picture of a whole page."""


class Picture(NamedTuple):
    """One view of a page."""

    name: str
    page: Path
    width: int
    height: int
    colours: str = "light"
    media: str = "screen"
    is_whole: bool = False
    """Whether it is of the whole page, not only of what a screen shows at once."""


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit status."""
    parser = argparse.ArgumentParser("make report-pictures", description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="take every view, into this folder")
    parser.add_argument("--page", type=Path, action="append", default=[], help="one more page for --all")
    asked = parser.parse_args(arguments)
    if CHROMIUM is None:
        print("install chromium first")
        return 1
    with tempfile.TemporaryDirectory() as name:
        five = _page(Path(name), "five", day_with_five_incidents)
        if asked.all is None:
            _take(IMAGES, [Picture("report", five, 1_200, 1_240),
                           Picture("report-on-a-phone", five, 400, 1_240, "dark")])  # fmt: skip
            return 0
        asked.all.mkdir(parents=True, exist_ok=True)
        pages = [five, _page(Path(name), "fleet", day_of_fleet), *asked.page]
        _take(asked.all, [view for page in pages for view in views(page.resolve())])
    return 0


def views(page: Path) -> Iterator[Picture]:
    """Every view of a page that somebody should look at."""
    for width, colours in product(WIDTHS, ("light", "dark")):
        name = f"{page.stem}-{width}-{colours}"
        yield Picture(name, page, width, 1_000, colours, is_whole=True)
    yield Picture(f"{page.stem}-paper", page, PAPER_WIDTH, 1_123, "dark", "print", is_whole=True)


def _page(folder: Path, name: str, make: Callable[[], Day]) -> Path:
    tables = tables_at(write_day(make(), folder / name))
    report = collect_report(tables, ReportQuery(tuple(SECTIONS), warehouse="warehouse"))
    page = folder / f"{name}.html"
    page.write_text(render_html(report), encoding="utf-8")
    return page


def _take(folder: Path, pictures: list[Picture]) -> None:
    with opened_browser() as browser:
        for picture in pictures:
            _take_one(browser, picture, folder / f"{picture.name}.png")


def _take_one(browser: Any, picture: Picture, file: Path) -> None:
    size = {"width": picture.width, "height": picture.height}
    context = browser.new_context(viewport=size, color_scheme=picture.colours, offline=True)
    page = context.new_page()
    page.goto(picture.page.as_uri())
    page.emulate_media(media=picture.media)
    if picture.is_whole:
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": picture.width, "height": min(height, MOST_HEIGHT)})
    page.screenshot(path=file)
    context.close()
    print(file)


if __name__ == "__main__":
    sys.exit(main())
