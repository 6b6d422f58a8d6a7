"""What became of the rows about a name, change by change; the law is in tests/property/test_history_law.py."""

import re
from datetime import UTC
from pathlib import Path

import pytest

import namekeeper
from namekeeper.answers.timeline import TimelineEntry, timeline_lines
from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey, LiveKey, PropertyKey, RowChange, Rows, TopicKey, What
from namekeeper.journal.contract.record import BrokerGroup, BrokerNameRemovedRecord, Config, TopicQueues
from namekeeper.journal.reading.history import Changed, CheckpointApplied
from tests.support.journal.history import fold
from tests.support.system.counted import Counted
from tests.support.system.lines_run import lines_run
from tests.unit.answers.story import Story

SOURCES = Path(namekeeper.__file__).parent


def events(story: Story, name: str):
    return story.history(name).changes()


@pytest.fixture
def story() -> Story:
    incident = Story()
    incident.registers()
    incident.registers("b1", "a1:1", ("U",))
    incident.wiped()
    incident.unregisters()
    return incident


def test_a_topic_has_its_rows_and_the_registrations_of_its_brokers(story):
    found = [
        (event.cause, sorted({row.key.kind for row in event.rows}))
        for event in events(story, "T")
        if event.what is What.CHANGE
    ]
    assert found == [
        ("register_broker", ["group", "live", "topic"]),
        ("wipe_write_perm", ["topic"]),
        ("unregister_broker", ["group", "live", "topic"]),
    ]


def test_a_row_has_what_it_was_before_and_after(story):
    (wiped,) = [event for event in events(story, "T") if event.cause == "wipe_write_perm"]
    assert [(row.key, row.before.perm, row.after.perm) for row in wiped.rows] == [(TopicKey("T", "b0"), 6, 4)]


@pytest.mark.parametrize("name", ["a1:1", "a1"])
def test_an_address_has_its_registration_and_its_group(story, name):
    (change,) = [event for event in events(story, name) if event.what is What.CHANGE]
    assert [row.key for row in change.rows] == [GroupKey("b1"), LiveKey("c", "a1:1")]


def test_a_broker_has_all_its_topics(story):
    first = next(event for event in events(story, "b0") if event.what is What.CHANGE)
    assert {row.key.topic for row in first.rows if isinstance(row.key, TopicKey)} == {"T", "other", "more"}


def test_a_boot_ends_every_row(story):
    story.registers()
    story.restarts()
    found = events(story, "T")
    assert [event.what for event in found][-2:] == [What.STOPPED, What.STARTED]
    assert {row.after for row in found[-1].rows} == {None}
    assert fold({}, found) == {}


def test_a_crash_says_that_records_may_be_lost(story):
    story.crashes()
    story.restarts()
    assert What.LOST in {event.what for event in events(story, "T")}


def test_a_fold_keeps_what_no_change_names():
    group = BrokerGroup(broker_name="b")
    assert fold({GroupKey("b"): group}, []) == {GroupKey("b"): group}


@pytest.mark.parametrize("again", [Story.restarts, Story.crashes])
def test_other_properties_after_a_start_are_what_the_name_server_started_with(story, again):
    """A server keeps nothing of a change by 318 here: the next one starts with what its file says."""
    story.configured(productEnvName="staging")
    again(story)
    found = [
        event for event in events(story, "T") if any(isinstance(row.key, PropertyKey) for row in event.rows)
    ]
    assert [(event.what, event.cause) for event in found] == [
        (What.CHANGE, "update_namesrv_config"), (What.CHANGE, "started_with"),
    ]  # fmt: skip
    (row,) = found[-1].rows
    assert row == RowChange(
        PropertyKey("productEnvName"),
        Config(properties={"productEnvName": "staging"}),
        Config(properties={"productEnvName": "center"}),
    )
    (line,) = timeline_lines([TimelineEntry(0, found[-1], {"ns": 0})], UTC)
    assert "(the name server started with it)" in line
    assert "checkpoint" not in line


def test_equal_properties_after_a_start_are_no_change(story):
    story.restarts()
    story.restarts()
    assert not any(isinstance(row.key, PropertyKey) for event in events(story, "T") for row in event.rows)


def test_what_a_later_checkpoint_finds_was_lost(story):
    story.registers()
    story.journal.drop(3)
    story.registers(perm=4)
    story.journal.begin_checkpoint("recovery")
    story.journal.go_on_with_checkpoint(10_000)
    assert "started_with" not in {event.cause for event in events(story, "T")}


def test_one_class_follows_steps_for_answers_and_views():
    """Validity is computed once: nothing above the histories looks at the kinds of steps."""
    above = [*SOURCES.glob("answers/*.py"), *SOURCES.glob("console/*.py"), *SOURCES.glob("cli/**/*.py")]
    followers = {
        path.name
        for path in above
        if any(
            f"isinstance(step, {kind}" in path.read_text() for kind in ("Began", "Lost", "CheckpointApplied")
        )
    }
    assert followers == set()


def test_no_answer_or_view_reads_a_row_by_position():
    above = [*SOURCES.glob("answers/*.py"), *SOURCES.glob("console/*.py")]
    assert [path.name for path in above if re.search(r"\b(values|row\.key|row)\[\d", path.read_text())] == []


def test_a_clock_that_goes_back_at_each_change_takes_time_by_the_number_of_changes():
    """It took time by the square of their number, because each change corrected the times of all before it."""

    def comparisons(count: int) -> int:
        history = History("ns")
        history.take(CheckpointApplied(1, 1, Counted(10**9), Rows()))
        before = Counted.comparisons
        for number in range(count):
            group = BrokerGroup(broker_name="b", cluster=f"c{number}")
            history.take(Changed(1, 2 + number, Counted(10**9 - number), [group]))
        events = history.events
        assert (len(events), {event.at for event in events}) == (count, {10**9 - count + 1})
        return Counted.comparisons - before

    assert comparisons(800) < 3 * comparisons(400)


def test_a_clock_that_goes_back_over_what_was_dropped_moves_the_beginning_of_what_is_known():
    history = History("ns", limit_bytes=20_000)
    history.take(CheckpointApplied(1, 1, 1_000, Rows()))
    for number in range(200):
        group = BrokerGroup(broker_name="b", cluster=f"c{number}")
        history.take(Changed(1, 2 + number, 2_000 + number, [group]))
    assert history.dropped_until is not None
    assert history.dropped_until > 2_000
    history.take(Changed(1, 300, 1_500, [BrokerGroup(broker_name="b", cluster="d")]))
    assert (history.dropped_until, history.first.at) == (1_500, 1_000)
    history.take(Changed(1, 301, 500, [BrokerGroup(broker_name="b", cluster="e")]))
    assert (history.dropped_until, history.first.at) == (500, 500)
    assert {event.at for event in history.all_events} == {500}


def test_a_removed_broker_name_costs_no_look_at_other_brokers():
    def work(brokers: int) -> int:
        history, removed = History("ns", "T"), BrokerNameRemovedRecord(broker_name="b0")
        groups = [BrokerGroup(broker_name=f"b{i}", cluster="c", broker_addrs={}) for i in range(brokers)]
        topics = [TopicQueues(broker_name="b0", rows=[("T", 8, 8, 6, 0)])]
        history.take(Changed(1, 1, 1, [*groups, *topics]))
        lines = lines_run(lambda: history.take(Changed(1, 2, 2, [removed])))
        assert TopicKey("T", "b0") not in history.present
        return lines

    assert work(200) < work(2) + 100


def test_a_change_is_in_question_at_the_times_in_its_own_window():
    history = History("ns")
    history.take(CheckpointApplied(1, 1, 0, Rows()))
    for seq, (ts, window_ms) in enumerate([(100, 50), (120, 5), (400, 0)], 2):
        group = BrokerGroup(broker_name=f"b{seq}", cluster="c", broker_addrs={}, window_ms=window_ms)
        history.take(Changed(1, seq, ts, [group]))
    assert [[event.at for event in history.in_question(at)] for at in (40, 90, 116, 120)] == [
        [],
        [100],
        [120],
        [],
    ]
