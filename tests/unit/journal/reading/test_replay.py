"""The state at an instant; that it is the server's is the law in tests/property/test_journal_law.py."""

import pytest

from namekeeper.journal.reading import replay as module
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.history import steps
from namekeeper.journal.reading.replay import state_at
from tests.support.journal.folder import read_records
from tests.unit.answers.story import Story


@pytest.fixture
def story():
    return Story()


def names_at(story, at=None):
    return set(state_at(read_records(story.journal.lines()), at).state.tables.broker_addr_table)


def test_without_an_instant_it_is_the_last_that_is_known(story):
    story.registers("b0", "a0:1")
    end = story.registers("b1", "a1:1")
    found = state_at(read_records(story.journal.lines()))
    assert (found.at, found.knowledge) == (end, Knowledge.KNOWN)
    assert set(found.state.tables.broker_addr_table) == {"b0", "b1"}


def test_an_instant_takes_what_is_not_later(story):
    first = story.registers("b0", "a0:1")
    second = story.registers("b1", "a1:1")
    assert names_at(story, first - 1) == set()
    assert names_at(story, first) == names_at(story, second - 1) == {"b0"}
    assert names_at(story, second) == {"b0", "b1"}


def test_what_a_clock_that_runs_back_passes_again_is_as_it_was_at_last(story):
    first = story.registers("b0", "a0:1")
    story.later(10_000)
    story.registers("b1", "a1:1")
    story.journal.ts = first + 500
    story.alive()
    assert names_at(story, first) == {"b0"}
    assert names_at(story, story.now) == {"b0", "b1"}


def test_only_so_many_changes_after_an_instant_are_kept(story, monkeypatch):
    """A journal of some hours of churn after the instant took gigabytes."""
    monkeypatch.setattr(module, "AHEAD_LIMIT", 20)
    first = story.registers("b0", "a0:1")
    story.later(10_000)
    for _ in range(10):
        story.registers("b1", "a1:1")
        story.unregisters("a1:1")
    replay = module.Replay(first)
    for step in steps(read_records(story.journal.lines())):
        replay.take(step)
    assert replay._ahead == []
    found = state_at(read_records(story.journal.lines()), first)
    assert (found.knowledge, set(found.state.tables.broker_addr_table)) == (Knowledge.KNOWN, {"b0"})
    story.journal.ts = first - 10_000
    story.alive()
    assert state_at(read_records(story.journal.lines()), first).knowledge is Knowledge.UNKNOWN
    story.journal.begin_checkpoint("interval")
    story.journal.go_on_with_checkpoint(1_000)
    story.later()
    story.alive()
    found = state_at(read_records(story.journal.lines()), first)
    assert (found.knowledge, set(found.state.tables.broker_addr_table)) == (Knowledge.KNOWN, {"b0"})


def test_a_checkpoint_that_becomes_complete_later_counts_at_its_begin(story):
    story.registers("b0", "a0:1")
    story.alive()
    story.journal.drop(1)
    story.later()
    story.journal.begin_checkpoint("recovery")
    begin = story.now
    story.registers("b1", "a1:1")
    assert state_at(read_records(story.journal.lines()), begin).knowledge is Knowledge.UNKNOWN
    story.journal.go_on_with_checkpoint(1_000)
    found = state_at(read_records(story.journal.lines()), begin)
    assert (found.knowledge, set(found.state.tables.broker_addr_table)) == (Knowledge.KNOWN, {"b0"})


def test_where_nothing_is_known_there_is_what_was_known_last(story):
    story.registers("b0", "a0:1")
    story.alive()
    story.journal.drop(1)
    story.registers("b1", "a1:1")
    found = state_at(read_records(story.journal.lines()))
    assert found.knowledge is Knowledge.UNKNOWN
    assert set(found.state.tables.broker_addr_table) == {"b0", "b1"}


def test_a_start_forgets_everybody_also_when_its_checkpoint_is_not_complete(story, monkeypatch):
    story.registers()
    monkeypatch.setattr(story.journal, "go_on_with_checkpoint", lambda count: None)
    story.restarts()
    found = state_at(read_records(story.journal.lines()))
    assert (found.knowledge, found.state.tables.broker_addr_table) == (Knowledge.KNOWN, {})


def test_without_records_there_is_nothing():
    found = state_at([])
    assert (found.at, found.knowledge, found.coverage.knows_up_to) == (0, Knowledge.NOT_YET, None)
