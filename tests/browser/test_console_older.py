"""The page over a journal that does not fit into its memory: lists go on to what is read from the journal."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.console import console_of, opened_page
from tests.browser.test_console_page import settled
from tests.unit.answers.story import Story

pytestmark = pytest.mark.timeout(300)

BYTES = 2_000_000
"""Three quarters of them are a part of the history."""
ROUNDS = 900
CHANGES = "table[aria-label=Changes] tbody tr"
SESSIONS = "table[aria-label=Sessions] tbody tr"


@pytest.fixture(scope="module")
def site(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that was lost early, and another one whose changes fill the memory after that."""
    folder = tmp_path_factory.mktemp("older")
    story = Story("ns-1_9876")
    story.registers("broker-a", "10.0.0.1:10911", ("orders",))
    story.registers("broker-b", "10.0.0.2:10911", ("payments",))
    story.later(600_000)
    story.connection_breaks("10.0.0.2:10911")
    story.later(300_000)
    story.registers("broker-b", "10.0.0.2:10911", ("payments",))
    for _ in range(ROUNDS):
        story.later(20_000)
        story.wiped("broker-a")
        story.registers("broker-a", "10.0.0.1:10911", ("orders",))
    story.folder(folder / "journals" / story.journal.namesrv)
    with console_of(folder / "journals", folder / "output.txt", "--history-bytes", str(BYTES)) as (
        _,
        address,
    ):
        yield address.rstrip("/")


def test_a_list_of_changes_goes_on_to_what_is_read_from_the_journal(browser: Any, site: Any):
    address = site
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
    address = site
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
    address = site
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
    address = site
    with opened_page(browser, f"{address}/?view=topic&name=orders") as page:
        settled(page)
        late = left_of_first_bar(page)
        page.get_by_role("button", name="Older", exact=True).click()
        page.get_by_text("on: what is older does not fit into the memory.").wait_for()
        settled(page)
        assert 0 < left_of_first_bar(page) < late


def left_of_first_bar(page: Any) -> float:
    """Where the first lane begins, in percent of its width."""
    text = page.locator("figure .lane svg rect").first.get_attribute("x")
    return float(text.rstrip("%"))
