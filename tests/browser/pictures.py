"""`make pictures`: the pictures of the console in the documents, of an incident that is played into journals.

With `--all FOLDER` it takes every view that somebody should look at after a change of the page, on a screen and
on a phone, light and dark; and what is empty or wrong, and names of strangers.
"""

import argparse
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from tests.browser.console import STRANGE, console_of, incident
from tests.support.system.browser import opened_browser
from tests.unit.answers.story import Story

__all__ = ["main"]

IMAGES = Path(__file__).parents[2] / "docs" / "images"
TOPICS = ("orders", "payments", "shipments")
MINUTE = 60_000


WIDTHS = (1_400, 400)
SETTLED_MS = 600
"""The stream of changes never ends, so the network is never idle."""
MOST_HEIGHT = 6_000
"""Of a picture of a whole page."""


def main(arguments: list[str] | None = None) -> None:
    """Play the incident, open the console, and take the pictures."""
    parser = argparse.ArgumentParser("make pictures", description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="take every view, into this folder")
    folder = parser.parse_args(arguments).all
    with tempfile.TemporaryDirectory() as name, opened_browser() as browser:
        wiped, cut = played(Path(name) / "journals")
        with console_of(Path(name) / "journals", Path(name) / "output.txt") as (_, address):
            if folder is not None:
                take_all(browser, address, folder, views(wiped, cut))
                incident(Path(name) / "strange", STRANGE)
            else:
                take(browser, f"{address}?at={cut}", IMAGES / "console.png", 1_200)
                take(browser, f"{address}?view=why&name=orders&at={wiped}", IMAGES / "console-why.png", 1_200)
                topic = f"{address}?view=topic&name=orders&at={cut}"
                take(browser, topic, IMAGES / "console-phone.png", 400, 900)
        if folder is not None:
            with console_of(Path(name) / "strange", Path(name) / "strange.txt") as (_, address):
                shown = {
                    "strange-now": "",
                    "strange-changes": "?view=changes",
                    "strange-search": "?view=search&q=a",
                }
                take_all(browser, address, folder, shown)


def views(wiped: int, cut: int) -> dict[str, str]:
    """Name of a picture -> query of its view."""
    return {
        "now": "",
        "cut": f"?at={cut}",
        "wiped": f"?at={wiped}",
        "changes": "?view=changes",
        "changes-none": "?view=changes&topic=nowhere",
        "topic": f"?view=topic&name=orders&at={cut}",
        "topic-missing": "?view=topic&name=oders",
        "broker": "?view=broker&name=broker-a",
        "why": f"?view=why&name=orders&at={wiped}",
        "why-asks": "?view=why",
        "compare": f"?view=compare&a=ns-1_9876&a_at={cut}&b=ns-2_9876&b_at={cut}",
        "search": "?view=search&q=o",
        "before": "?at=2001-01-01T00:00:00.000Z",
        "wrong": "?at=yesterday-ish",
    }


def take_all(browser: Any, address: str, folder: Path, shown: dict[str, str]) -> None:
    """Take every view on a screen and on a phone, light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for (name, query), width, colours in product(shown.items(), WIDTHS, ("light", "dark")):
        size = {"width": width, "height": 900}
        context = browser.new_context(viewport=size, timezone_id="Europe/Berlin", color_scheme=colours)
        page = context.new_page()
        page.goto(f"{address}{query}")
        page.locator("#app main, #app .notice").first.wait_for()
        page.wait_for_timeout(SETTLED_MS)
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": min(max(height, 900), MOST_HEIGHT)})
        page.screenshot(path=folder / f"{name}-{width}-{colours}.png")
        context.close()


def played(folder: Path) -> tuple[int, int]:
    """Two hours of two name servers; returns when nobody could send, and when the two disagreed."""
    stories = [Story(name) for name in ("ns-1_9876", "ns-2_9876")]
    wiped = cut = 0
    for story in stories:
        story.registers("broker-a", "10.0.0.1:10911", TOPICS, zone="zone-1")
        story.registers("broker-b", "10.0.0.2:10911", TOPICS, zone="zone-2")
        story.later(30 * MINUTE)
        story.connection_breaks("10.0.0.2:10911")
        story.later(5 * MINUTE)
        story.wiped("broker-a")
        wiped = story.later(3 * MINUTE)
        story.later(7 * MINUTE)
        story.registers("broker-b", "10.0.0.2:10911", TOPICS, zone="zone-2")
        story.later(20 * MINUTE)
    one, other = stories
    other.unregisters("10.0.0.1:10911")
    one.restarts_with_its_routes(2 * MINUTE)
    cut = one.later(10 * MINUTE)
    other.later(12 * MINUTE)
    for story in stories:
        story.registers("broker-a", "10.0.0.1:10911", (*TOPICS, "refunds"), zone="zone-1")
        story.later(20 * MINUTE)
        story.alive()
        story.folder(folder / story.journal.namesrv)
    return wiped, cut


def take(browser: Any, address: str, path: Path, width: int, height: int = 700) -> None:
    """One picture, of the page as high as it is, or as high as a phone."""
    context = browser.new_context(viewport={"width": width, "height": height}, timezone_id="UTC")
    page = context.new_page()
    page.goto(address)
    page.locator("main[data-view] table, main[data-view] h3").first.wait_for()
    page.locator("[aria-busy=true]").first.wait_for(state="detached")
    page.screenshot(path=str(path), full_page=width > 600)
    context.close()


if __name__ == "__main__":
    main()
