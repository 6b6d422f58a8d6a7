"""`make pictures`: the pictures of the console in the documents, of an incident that is played into journals."""

import tempfile
from pathlib import Path
from typing import Any

from tests.browser.console import console_of
from tests.support.system.browser import opened_browser
from tests.unit.answers.story import Story

__all__ = ["main"]

IMAGES = Path(__file__).parents[2] / "docs" / "images"
TOPICS = ("orders", "payments", "shipments")
MINUTE = 60_000


def main() -> None:
    """Play the incident, open the console, and take the pictures."""
    with tempfile.TemporaryDirectory() as name:
        wiped, cut = played(Path(name) / "journals")
        with (
            console_of(Path(name) / "journals", Path(name) / "output.txt") as (_, address),
            opened_browser() as browser,
        ):
            take(browser, f"{address}?at={cut}", IMAGES / "console.png", 1_200)
            take(browser, f"{address}?view=why&name=orders&at={wiped}", IMAGES / "console-why.png", 1_200)
            take(
                browser, f"{address}?view=topic&name=orders&at={cut}", IMAGES / "console-phone.png", 400, 900
            )


def played(folder: Path) -> tuple[int, int]:
    """Two hours of two name servers; returns when nobody could send, and when the two disagreed."""
    stories = [Story(name) for name in ("ns-1_9876", "ns-2_9876")]
    wiped = cut = 0
    for story in stories:
        for broker, addr in (("broker-a", "10.0.0.1:10911"), ("broker-b", "10.0.0.2:10911")):
            story.registers(broker, addr, TOPICS)
        story.later(30 * MINUTE)
        story.connection_breaks("10.0.0.2:10911")
        story.later(5 * MINUTE)
        story.wiped("broker-a")
        wiped = story.later(3 * MINUTE)
        story.later(7 * MINUTE)
        story.registers("broker-b", "10.0.0.2:10911", TOPICS)
        story.later(20 * MINUTE)
    one, other = stories
    other.unregisters("10.0.0.1:10911")
    one.restarts_with_its_routes(2 * MINUTE)
    cut = one.later(10 * MINUTE)
    other.later(12 * MINUTE)
    for story in stories:
        story.registers("broker-a", "10.0.0.1:10911", (*TOPICS, "refunds"))
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
    page.locator("main[aria-busy], main [aria-busy=true]").first.wait_for(state="detached")
    page.screenshot(path=str(path), full_page=width > 600)
    context.close()


if __name__ == "__main__":
    main()
