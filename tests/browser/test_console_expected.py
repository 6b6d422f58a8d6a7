"""The page with an expected state: drift, deviations, what is planned, and the windows of maintenance."""

from pathlib import Path
from typing import Any

import pytest

from namekeeper.expected.maintenance import MaintenanceLog, Scope, log_beside
from namekeeper.expected.state import learn
from namekeeper.expected.state_file import expected_text
from tests.browser.console import console_of, opened_page
from tests.browser.test_console_page import settled
from tests.unit.answers.story import MINUTE, Story
from tests.unit.drift.fleet import align_ends

pytestmark = pytest.mark.timeout(300)

HOSTILE = "<b>disks</b>"
NOW, WINDOWS = "table[aria-label='Wrong now'] tbody tr", "table[aria-label=Maintenance] tbody tr"


def test_deviations_and_windows_are_shown_beside_other_incidents(browser: Any, tmp_path: Path):
    stories = Story("ns-1_9876"), Story("ns-2_9876")
    for story in stories:
        for name, addr in (("broker-a", "10.0.0.1:10911"), ("broker-b", "10.0.0.2:10911")):
            story.registers(name, addr, ("orders",))
        story.later(5 * MINUTE)
    file = tmp_path / "expected.toml"
    file.write_text(expected_text(learn([story.history() for story in stories]).state))
    begin = max(story.now for story in stories)
    log = MaintenanceLog(log_beside(str(file)))
    scope = Scope(brokers=("broker-b",))
    window = log.start(scope, begin, begin + 60 * MINUTE, who="ann@host", why=HOSTILE, now=begin)
    for story in stories:
        story.connection_breaks("10.0.0.2:10911")
        story.registers("broker-x", "10.0.0.9:10911", ("x-1",))
        story.registers("broker-y", "10.0.0.8:10911", ("x-1",))
    stories[1].connection_breaks("10.0.0.1:10911")
    align_ends(stories, 5 * MINUTE)
    for story in stories:
        story.folder(tmp_path / "journals" / story.journal.namesrv)
    with (
        console_of(tmp_path / "journals", tmp_path / "output.txt", "--expect", str(file)) as (_, address),
        opened_page(browser, address) as page,
    ):
        settled(page)
        rows = page.locator(NOW).all_inner_texts()
        assert len(rows) == 3
        assert any("registers with 1 of 2 name servers (missing: ns-2_9876)" in row for row in rows)
        assert any("broker broker-x is not expected" in row and "1 more such" in row for row in rows)
        assert "broker-b away" in rows[-1]
        assert f"planned: window {window}" in rows[-1]
        (shown,) = page.locator(WINDOWS).all_inner_texts()
        assert all(text in shown for text in ("broker broker-b", "ann@host", HOSTILE, window))
        page.locator(NOW).filter(has_text="broker-x").locator("a").first.click()
        page.wait_for_selector("section[aria-label=Details] li")
        details = page.locator("section[aria-label=Details] li").all_inner_texts()
        assert [text.split()[1] for text in details] == ["broker-x", "broker-y"]
