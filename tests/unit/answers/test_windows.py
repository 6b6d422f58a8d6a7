"""Answers from observed journals: what is within a window is said to be, and exact journals are as they were."""

import json
from pathlib import Path

import pytest

from namekeeper.answers.explain import explain
from namekeeper.answers.render import explanation_lines, explanations_json, routes_json
from namekeeper.answers.source import JournalAnswers
from namekeeper.answers.timeline import timeline, timeline_json, timeline_lines
from namekeeper.answers.times import UTC
from namekeeper.answers.verdict import Verdict
from tests.support.history.histories import READ, WRITE
from tests.support.history.observed import BEGIN, FIRST, MINUTE, SECOND, observed
from tests.support.journal.folder import write_journal

GONE, BACK, END = BEGIN + 10 * MINUTE, BEGIN + 15 * MINUTE, BEGIN + 20 * MINUTE


def journal(
    folder: Path, *, go: int = 6_000, come_back: int = 2_000, name: str = FIRST, late: int = 0
) -> str:
    """The broker is there from minute 0 to 10 and from 15 to 20."""
    history, (server,) = observed(name)
    server.come(0, 0)
    server.go(10 * MINUTE + late, go)
    server.come(15 * MINUTE + late, come_back)
    server.end(20 * MINUTE)
    lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in history.records[name]]
    return str(write_journal(folder / name, lines))


@pytest.fixture
def source(tmp_path: Path) -> JournalAnswers:
    return JournalAnswers([journal(tmp_path)])


def why(source: JournalAnswers, at: int) -> str:
    (found,) = explain(source.evidence("orders", at), at)
    return "\n".join(explanation_lines(found, UTC))


def test_why_says_between_which_times_the_broker_went(source):
    text = why(source, GONE + MINUTE)
    assert "b0 is gone  between 2026-03-01 01:09:54.000 UTC and 2026-03-01 01:10:00.000 UTC" in text
    again = "it had a route with queues to write to again from here on"
    assert f"{again}  between 2026-03-01 01:14:58.000 UTC and 2026-03-01 01:15:00.000 UTC" in text


def test_why_of_an_exact_journal_names_instants_only(tmp_path):
    text = why(JournalAnswers([journal(tmp_path, go=0, come_back=0)]), GONE + MINUTE)
    assert "between" not in text
    assert "b0 is gone  2026-03-01 01:10:00.000 UTC" in text


@pytest.mark.parametrize(
    ("at", "is_uncertain"),
    [
        (GONE - 6_001, False),
        (GONE - 6_000, True),
        (GONE - 1, True),
        (GONE, False),
        (BACK - 1, True),
        (BACK, False),
    ],
)
def test_a_time_within_a_window_is_uncertain(source, at, is_uncertain):
    assert ("uncertain at this time" in why(source, at)) == is_uncertain
    (route,) = source.routes("orders", at)
    assert bool(route.uncertain) == is_uncertain


def test_the_facts_in_json_have_their_windows_and_exact_ones_have_none(source):
    found = explain(source.evidence("orders", GONE + MINUTE), GONE + MINUTE)
    assert found[0].verdict is Verdict.BROKER_GONE
    facts = json.loads(explanations_json(found))[0]["facts"]
    windows = {fact["at"]: fact.get("window_ms") for fact in facts}
    assert windows == {GONE: 6_000, BACK: 2_000}
    at = BACK + MINUTE
    (came,) = [fact for fact in json.loads(explanations_json(explain(source.evidence("orders", at), at)))[0]["facts"]
               if fact["at"] == BACK]  # fmt: skip
    assert came["window_ms"] == 2_000


def test_the_length_of_a_period_between_windows_is_not_exact(source):
    assert "no queue to write to for about 5 min" in why(source, BACK + MINUTE)


def test_the_route_within_a_window_names_the_change_in_question(source):
    (route,) = source.routes("orders", GONE - 1)
    assert route.route is not None
    (change,) = route.uncertain
    assert (change.at, change.window_ms, change.cause, change.route) == (GONE, 6_000, "observed", None)
    (value,) = json.loads(routes_json([route]))
    assert value["uncertain"][0]["window_ms"] == 6_000
    (route,) = source.routes("orders", BACK - 1)
    assert route.route is None
    assert [data.broker_name for data in route.uncertain[0].route.queue_datas] == ["b0"]


def test_a_change_that_leaves_the_route_as_it_was_is_not_in_question(tmp_path):
    history, (server,) = observed(FIRST)
    server.come(0, 0)
    server.change_topics(5 * MINUTE, 9_000, orders=(4, 4, READ | WRITE, 0), other=(8, 8, READ, 0))
    server.end(20 * MINUTE)
    lines = [json.dumps(record).encode() + b"\n" for record in history.records[FIRST]]
    source = JournalAnswers([str(write_journal(tmp_path / FIRST, lines))])
    at = BEGIN + 5 * MINUTE - 1
    assert source.routes("orders", at)[0].uncertain == []
    assert len(source.routes("other", at)[0].uncertain) == 1


def test_an_exact_route_in_json_has_no_more_members_than_before(tmp_path):
    source = JournalAnswers([journal(tmp_path, go=0, come_back=0)])
    (value,) = json.loads(routes_json(source.routes("orders", GONE - 1)))
    assert value.keys() == {"namesrv", "at", "at_iso", "knows_up_to", "knows_up_to_iso", "knowledge", "route"}


def test_the_timeline_shows_windows(source):
    entries = timeline(source.changes("orders", 0, END))
    lines = list(timeline_lines(entries, UTC))
    gone = "between 2026-03-01 01:09:54.000 UTC and 2026-03-01 01:10:00.000 UTC  "
    assert [line.startswith(gone) for line in lines].count(True) == 1
    windows = [
        value.get("window_ms") for value in json.loads(timeline_json(entries)) if value["what"] == "change"
    ]
    assert windows == [None, {FIRST: 6_000}, {FIRST: 2_000}]


def test_equal_changes_whose_windows_meet_are_one(tmp_path):
    folders = [
        journal(tmp_path, go=1_000, come_back=1_000),
        journal(tmp_path, name=SECOND, go=30_000, late=20_000),
    ]
    entries = timeline(JournalAnswers(folders).changes("orders", GONE - MINUTE, GONE + MINUTE))
    assert [entry.windows for entry in entries] == [{FIRST: 1_000, SECOND: 30_000}]


def test_an_old_reader_that_ignores_the_windows_reads_the_same_states(tmp_path):
    with_windows = JournalAnswers([journal(tmp_path / "new")])
    without = JournalAnswers([journal(tmp_path / "old", go=0, come_back=0)])
    for at in range(BEGIN, END, 1_000 * 29):
        (new,), (old,) = with_windows.routes("orders", at), without.routes("orders", at)
        assert (new.route, new.knowledge, new.knows_up_to) == (old.route, old.knowledge, old.knows_up_to)
