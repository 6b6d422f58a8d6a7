"""Makes the pictures of the report in docs/images: `python -m tests.browser.pictures`.

They show the day with five incidents that the tests have too, so whoever changes the page makes them again.
"""

import sys
import tempfile
from pathlib import Path

from namekeeper.pipeline.report.contents import SECTIONS
from namekeeper.pipeline.report.html import render_html
from namekeeper.pipeline.report.query import ReportQuery, collect_report
from tests.support.pipeline.days import day_with_five_incidents, write_day
from tests.support.pipeline.file_warehouse import tables_at
from tests.support.system.browser import CHROMIUM, opened_browser

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"

PICTURES = {"report": (1_200, 1_240, "light"), "report-on-a-phone": (400, 1_240, "dark")}
"""Name -> width and height in pixels, and colours."""


def main() -> int:
    """Run; return the exit status."""
    if CHROMIUM is None:
        print("install chromium first")
        return 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = tables_at(write_day(day_with_five_incidents(), folder / "warehouse"))
        report = collect_report(tables, ReportQuery(tuple(SECTIONS), warehouse="warehouse"))
        page = folder / "report.html"
        page.write_text(render_html(report), encoding="utf-8")
        _take(page)
    return 0


def _take(page: Path) -> None:
    with opened_browser() as browser:
        for name, (width, height, colours) in PICTURES.items():
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=colours, offline=True
            )
            opened = context.new_page()
            opened.goto(page.as_uri())
            opened.screenshot(path=IMAGES / f"{name}.png")
            context.close()
            print(f"{IMAGES / name}.png")


if __name__ == "__main__":
    sys.exit(main())
