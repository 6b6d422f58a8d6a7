"""The pictures that somebody should look at."""

from pathlib import Path
from typing import Any

from tests.browser.report_pictures import main, views
from tests.support.system.browser import CHROMIUM


def test_a_page_is_seen_on_a_screen_and_a_phone_light_and_dark_and_on_paper():
    names = [view.name for view in views(Path("/tmp/day.html"))]
    assert names == ["day-1400-light", "day-1400-dark", "day-400-light", "day-400-dark", "day-paper"]


def test_without_a_browser_it_says_what_to_install(monkeypatch: Any, capsys: Any):
    monkeypatch.setattr("tests.browser.report_pictures.CHROMIUM", None)
    assert main([]) == 1
    assert "chromium" in capsys.readouterr().out
    assert CHROMIUM is None or Path(CHROMIUM).exists()
