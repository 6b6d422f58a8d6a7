"""The page over a journal that does not fit into its memory: lists go on to what is read from the journal."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.console import console_of, opened_page
from tests.browser.test_console_page import IS_AT, settled, until
from tests.unit.answers.story import Story

pytestmark = pytest.mark.timeout(300)

BYTES = 2_000_000
"""Eleven of 16 parts of them are for the history."""
ROUNDS = 900
FORMER = 30
"""Brokers that come and go: their names fill the memory for dropped names, if that is a tenth."""
CHANGES = "table[aria-label=Changes] tbody tr"
SESSIONS = "table[aria-label=Sessions] tbody tr"


@pytest.fixture(scope="module")
def site(browser: Any, written: tuple[Path, list[int]]) -> Iterator[tuple[str, list[int]]]:
    """A console over the journal, and times of it: see `written`."""
    folder, times = written
    with console_of(folder / "journals", folder / "output.txt", "--history-bytes", str(BYTES)) as (
        _,
        address,
    ):
        yield address.rstrip("/"), times


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A broker that was lost early, one that went for good, and one whose changes fill the memory after that.

    Returns:
        The folder of its journal, and when the one that went for good came and went.
    """
    folder = tmp_path_factory.mktemp("older")
    story = Story("ns-1_9876")
    story.registers("broker-a", "10.0.0.1:10911", ("orders",))
    story.registers("broker-b", "10.0.0.2:10911", ("payments",))
    story.later(600_000)
    story.connection_breaks("10.0.0.2:10911")
    story.later(300_000)
    story.registers("broker-b", "10.0.0.2:10911", ("payments",))
    story.later(60_000)
    times = [story.registers("broker-gone", "10.0.0.3:10911", ("invoices",))]
    story.later(60_000)
    times.append(story.unregisters("10.0.0.3:10911"))
    story.deleted("invoices")
    for number in range(FORMER):
        story.registers(f"former-{number}", f"10.0.1.{number}:10911", (f"former-{number}",))
        story.unregisters(f"10.0.1.{number}:10911")
    for _ in range(ROUNDS):
        story.later(20_000)
        story.wiped("broker-a")
        story.registers("broker-a", "10.0.0.1:10911", ("orders",))
    story.folder(folder / "journals" / story.journal.namesrv)
    return folder, times


def test_a_list_of_changes_goes_on_to_what_is_read_from_the_journal(browser: Any, site: Any):
    address, _ = site
    with opened_page(browser, f"{address}/?view=changes&broker=broker-b") as page:
        settled(page)
        assert page.locator(CHANGES, has_text="broker-b").count() == 0
        seen = 0
        while page.locator("#older").count():
            assert "on; older ones are read from the journal." in page.locator("#older").inner_text()
            page.get_by_role("button", name="Older", exact=True).click()
            settled(page)
            seen += page.locator(CHANGES, has_text="broker-b").count()
        assert seen == 3, "it came, went and came back"
        assert page.locator("main [role=alert]").count() == 0
        page.go_back()
        page.wait_for_selector("#older")


def test_the_life_of_a_broker_goes_on_to_what_is_read_from_the_journal(browser: Any, site: Any):
    address, _ = site
    with opened_page(browser, f"{address}/?view=broker&name=broker-b") as page:
        settled(page)
        assert page.locator(SESSIONS).count() == 1
        assert "on; older ones are read from the journal." in page.locator("#older").inner_text()
        page.get_by_role("button", name="Older", exact=True).click()
        page.wait_for_selector("#older", state="detached")
        settled(page)
        assert page.locator(SESSIONS).count() == 2
        assert "went once, away for" in page.locator("[aria-label=Absences]").inner_text()
        assert "older=1" in page.url


def test_the_lanes_of_name_servers_and_topics_begin_with_the_journal(browser: Any, site: Any):
    address, _ = site
    with opened_page(browser, f"{address}/?view=topic&name=payments") as page:
        settled(page)
        late = left_of_first_bar(page)
        page.get_by_role("button", name="Older", exact=True).click()
        page.wait_for_selector("#older", state="detached")
        settled(page)
        assert left_of_first_bar(page) < late
        page.goto(f"{address}/")
        settled(page)
        assert left_of_first_bar(page) == 0


def test_of_what_does_not_fit_it_says_from_when_on_it_is_known(browser: Any, site: Any):
    """All changes are of this topic: those before the memory do not fit into a third of it."""
    address, _ = site
    with opened_page(browser, f"{address}/?view=topic&name=orders") as page:
        settled(page)
        late = left_of_first_bar(page)
        page.get_by_role("button", name="Older", exact=True).click()
        page.get_by_text("on: what is older does not fit into the memory.").wait_for()
        settled(page)
        assert 0 < left_of_first_bar(page) < late


def test_the_search_finds_names_of_changes_that_were_dropped(browser: Any, site: Any):
    address, _ = site
    with opened_page(browser, f"{address}/?view=search&q=invoices") as page:
        settled(page)
        assert "The search knows" not in page.locator("main").inner_text()
        page.locator("ul.found a").click()
        page.wait_for_selector("#topic")
        settled(page)
        assert "older=1" in page.url
        assert page.locator("figure .lane svg rect").count() > 0
        page.goto(f"{address}/?view=search&q=broker-gone")
        settled(page)
        page.locator("ul.found a").click()
        page.wait_for_selector(SESSIONS)
        assert page.locator(SESSIONS).count() == 1


def test_a_name_that_is_only_in_dropped_changes_is_not_called_unknown(browser: Any, site: Any):
    address, _ = site
    with opened_page(browser, f"{address}/?view=broker&name=broker-gone") as page:
        settled(page)
        assert re.search(
            r"no record of a broker broker-gone from .+ on; it was there before",
            page.locator("main").inner_text(),
        )
        page.get_by_role("button", name="Older", exact=True).click()
        page.wait_for_selector(SESSIONS)


def test_the_buttons_of_the_slider_go_through_changes_that_were_dropped(browser: Any, site: Any):
    address, (came, went) = site
    with opened_page(browser, f"{address}/?at={came}") as page:
        settled(page)
        page.click("#after")
        until(page, IS_AT, went)
        page.click("#before")
        until(page, IS_AT, came)
        settled(page)
        assert "10.0.0.3:10911" in page.locator("table[aria-label=Brokers]").inner_text()
        assert page.locator("section.instant .banner").count() == 0


def test_the_search_and_the_buttons_say_from_when_on_they_know_everything(
    browser: Any, written: tuple[Path, list[int]]
):
    folder, (_, went) = written
    with (
        console_of(folder / "journals", folder / "small.txt", "--history-bytes", str(BYTES // 10)) as (
            _,
            address,
        ),
        opened_page(browser, f"{address}?at={went}") as page,
    ):
        settled(page)
        page.click("#before")
        page.get_by_text("The buttons know all changes from").wait_for()
        page.get_by_role("link", name="Older changes").click()
        page.wait_for_selector("main[data-view=changes]")
        page.goto(f"{address}?view=search&q=zzz")
        settled(page)
        text = page.locator("main").inner_text()
        assert re.search(r"Nothing that was there from .+ on has zzz in its name", text)
        assert "What is older needs more memory" in text
        page.goto(f"{address}?view=search&q=former")
        settled(page)
        assert "The search knows all names from" in page.locator("main").inner_text()


def left_of_first_bar(page: Any) -> float:
    """Where the first lane begins, in percent of its width."""
    text = page.locator("figure .lane svg rect").first.get_attribute("x")
    return float(text.rstrip("%"))
