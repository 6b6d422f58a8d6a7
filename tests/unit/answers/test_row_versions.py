"""Every version of every row: at any instant it is what a replay up to that instant makes."""

from itertools import pairwise

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from namekeeper.answers.route import route_of
from namekeeper.answers.row_changes import What, rows_of
from namekeeper.answers.row_versions import PeriodState, RowVersions, StatePeriod
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.history import steps
from namekeeper.journal.reading.replay import state_at
from tests.property.histories import TOPICS, random_history
from tests.support.journal.folder import read_records
from tests.unit.answers.story import Story

KINDS = ("live", "group", "topic", "mapping", "filter")


def in_order(route):
    """Without the order of rows, which the journal does not keep."""
    return route and structs.replace(
        route,
        broker_datas=sorted(route.broker_datas, key=lambda each: each.broker_name),
        queue_datas=sorted(route.queue_datas, key=lambda each: each.broker_name),
    )


def versions_of(journal) -> RowVersions:
    versions = RowVersions(journal.namesrv)
    for step in steps(read_records(journal.lines())):
        versions.take(step)
    return versions


@given(st.randoms(use_true_random=True))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_at_any_instant_it_has_the_rows_of_a_replay(chance):
    """Whatever the clock did, and whatever was lost."""
    journal = random_history(chance, 40, clock_jumps=True)
    records = read_records(journal.lines())
    versions = versions_of(journal)
    times = [record.ts for record in records]
    for at in {*chance.sample(times, min(6, len(times))), min(times) - 1, max(times) + 1}:
        replayed = state_at(records, at)
        assert versions.knowledge(at) is replayed.knowledge
        if replayed.knowledge is not Knowledge.KNOWN:
            continue
        found = {key: values for kind in KINDS for key, values in versions.rows(kind, at)}
        assert found == rows_of(replayed.state)
        for topic in TOPICS:
            route = versions.route(topic, at)
            expected = route_of(replayed.state, topic)
            assert route.knowledge is Knowledge.KNOWN
            assert in_order(route.route) == in_order(expected)


@given(st.randoms(use_true_random=True))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_its_periods_say_what_is_known(chance):
    journal = random_history(chance, 40, clock_jumps=True)
    versions = versions_of(journal)
    periods = versions.periods()
    for one, other in pairwise(periods):
        assert one.until == other.since
        assert one.state is not other.state
    for period in periods:
        assert (period.state is PeriodState.UP) == (versions.knowledge(period.since) is Knowledge.KNOWN)


def test_the_rows_of_the_first_checkpoint_are_no_change():
    """Segments before it were deleted."""
    story = Story()
    story.registers()
    story.journal.begin_checkpoint("interval")
    story.journal.go_on_with_checkpoint(1_000)
    story.wiped()
    records = read_records(story.journal.lines())
    begin = next(
        n for n, record in enumerate(records) if record.kind == "checkpoint_begin" and record.seq > 3
    )
    versions = RowVersions("ns_9876")
    for step in steps(records[begin:]):
        versions.take(step)
    assert [event.cause for event in versions.events] == ["wipe_write_perm"]
    assert versions.version_at(("topic", "T", "b0"), story.now).values[2] == 4


def test_a_stop_is_a_period_and_an_event():
    story = Story()
    story.registers()
    began = story.restarts(down_ms=5_000)
    versions = versions_of(story.journal)
    assert [event.what for event in versions.events][-2:] == [What.STOPPED, What.STARTED]
    assert versions.periods()[1] == StatePeriod(began - 5_000, began, PeriodState.STOPPED)
    assert [period.state for period in versions.periods()] == ["up", "stopped", "up"]


def test_a_running_name_server_is_known_beyond_its_last_record():
    story = Story()
    story.registers()
    versions = versions_of(story.journal)
    assert versions.knowledge(story.now + 1) is Knowledge.NOT_YET
    versions.extend(story.now + 5)
    assert versions.knowledge(story.now + 5) is Knowledge.KNOWN
    assert versions.knowledge(story.now + 6) is Knowledge.NOT_YET
    assert versions.knows_up_to == story.now + 5
    assert versions.route("T", story.now + 5).route is not None


def test_the_names_that_there_were():
    story = Story()
    story.registers()
    story.deleted()
    versions = versions_of(story.journal)
    assert sorted(versions.topics()) == ["T", "more", "other"]
    assert list(versions.keys_of_topic("T")) == [("topic", "T", "b0")]
    assert list(versions.rows_of_topic("T", story.now)) == []
    assert list(versions.keys("group")) == [("group", "b0")]
    assert [version.values for version in versions.versions(("topic", "T", "b0"))][-1] is None
