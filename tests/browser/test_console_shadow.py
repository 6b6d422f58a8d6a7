"""The page beside a shadow: one line says whether its tables are those of the others."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.console import console_of, opened_page
from tests.browser.test_console_page import settled
from tests.unit.answers.story import MINUTE
from tests.unit.drift.fleet import align_ends
from tests.unit.drift.test_shadow import C, with_shadow

pytestmark = pytest.mark.timeout(300)


def test_a_shadow_is_a_line_above_the_verdicts(browser: Any, tmp_path: Path):
    stories = with_shadow(1)
    stories[0].registers("broker-c", C)
    align_ends(stories, 5 * MINUTE)
    for story in stories:
        story.folder(tmp_path / "journals" / story.journal.namesrv)
    with (
        console_of(tmp_path / "journals", tmp_path / "output.txt") as (_, address),
        opened_page(browser, f"{address}?view=drift") as page,
    ):
        settled(page)
        (line,) = [text for text in page.locator("p.banner").all_inner_texts() if text.startswith("shadow")]
        assert line.startswith("shadow: equal for 5 min")
        assert line.endswith(f"1 broker does not register with it: broker-c ({C})")
        nothing = page.locator(
            "text=Besides the shadow there are no two name servers to compare."
        ).inner_text()
        assert nothing.endswith("The line above compares the shadow with the others.")
