"""The page of an observed name server: intervals in place of instants, and both sides within a window."""

import json
from pathlib import Path

import pytest

from namekeeper.answers.source import JournalAnswers
from namekeeper.clock import SystemClock
from namekeeper.console.histories import Histories
from namekeeper.console.views import ConsoleViews
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal.reading.reader import FoundJournal
from tests.support.history.observed import BEGIN, FIRST, MINUTE, observed
from tests.support.journal.folder import write_journal

GONE, BACK = BEGIN + 10 * MINUTE, BEGIN + 15 * MINUTE


def views_of(folder: Path, *, go: int, come_back: int) -> ConsoleViews:
    """The broker is there from minute 0 to 10 and from 15 to 20."""
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.go(10 * MINUTE, go)
    server.come(15 * MINUTE, come_back)
    server.end(20 * MINUTE)
    lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in history.records[FIRST]]
    path = str(write_journal(folder / FIRST, lines))
    histories = Histories([JournalSource([FoundJournal(path)])])
    for each in histories.all:
        histories.read(each)
    return ConsoleViews(histories, lambda: JournalAnswers([path]), SystemClock())


@pytest.fixture
def views(tmp_path: Path) -> ConsoleViews:
    return views_of(tmp_path, go=6_000, come_back=2_000)


def at(ms: int, **more: str) -> dict[str, str]:
    return {"at": str(ms), **more}


@pytest.mark.parametrize(("ms", "changes"), [(GONE - 6_001, 0), (GONE - 6_000, 1), (GONE - 1, 1), (GONE, 0)])
def test_an_instant_within_a_window_says_how_many_changes_are_in_question(views, ms, changes):
    (row,) = views.overview(at(ms))["namesrvs"]
    assert row.get("uncertain") == ({"changes": changes, "until": GONE} if changes else None)


def test_a_topic_within_a_window_has_both_routes(views):
    (before,) = views.topic(at(GONE - 1, name="orders"))["routes"]
    (change,) = before["uncertain"]
    assert (before["perms"], change["perms"], change["route"]) == ({"b0": "RW-"}, {}, None)
    assert (change["at"], change["window_ms"]) == (GONE, 6_000)
    (after,) = views.topic(at(BACK - 1, name="orders"))["routes"]
    assert (after["route"], after["uncertain"][0]["perms"]) == (None, {"b0": "RW-"})
    (outside,) = views.topic(at(GONE, name="orders"))["routes"]
    assert "uncertain" not in outside


def test_sessions_and_changes_have_their_windows(views):
    last, first = views.broker({"name": "b0"})["sessions"]
    assert (first["until_window_ms"], last["since_window_ms"]) == (6_000, 2_000)
    assert "since_window_ms" not in first
    (broker,) = views.brokers(at(BACK))["rows"]
    assert broker["at"][FIRST] == {"since": BACK, "heard": None, "since_window_ms": 2_000}
    rows = [row for row in views.changes({})["rows"] if row["what"] == "change"]
    assert [row.get("window_ms") for row in rows] == [{FIRST: 2_000}, {FIRST: 6_000}, None]


def test_why_names_the_window(views):
    (found,) = views.journals.why(at(GONE - 1, name="orders"))["explanations"]
    assert "; uncertain: a change happened between" in found["summary"]
    assert 6_000 in [fact.get("window_ms") for fact in found["facts"]]


def test_an_exact_journal_has_no_more_members_than_before(tmp_path):
    views = views_of(tmp_path, go=0, come_back=0)
    shown = [
        views.overview(at(GONE - 1)), views.topic(at(GONE - 1, name="orders")), views.broker({"name": "b0"}),
        views.brokers(at(BACK)), views.changes({}),
    ]  # fmt: skip
    text = json.dumps(shown, default=str)
    assert "uncertain" not in text
    assert "window_ms" not in text
