"""Every version of every row: at any instant it is what a replay up to that instant makes."""

import gc
import tracemalloc
from collections.abc import Callable, Iterable
from itertools import pairwise

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from namekeeper.answers.route import route_at, route_of
from namekeeper.history.history import History
from namekeeper.history.rows import FilterKey, GroupKey, LiveKey, MappingKey, Rows, TopicKey, What
from namekeeper.history.timeline import PeriodState, StatePeriod
from namekeeper.journal.contract.record import Kv, TopicMapping, TopicQueues
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.history import Changed, CheckpointApplied, steps
from namekeeper.journal.reading.replay import state_at
from tests.property.histories import TOPICS, random_history
from tests.support.journal.folder import read_records
from tests.support.journal.history import history_of, rows_of
from tests.unit.answers.story import Story

KINDS = (LiveKey, GroupKey, TopicKey, MappingKey, FilterKey)


def in_order(route):
    """Without the order of rows, which the journal does not keep."""
    return route and structs.replace(
        route,
        broker_datas=sorted(route.broker_datas, key=lambda each: each.broker_name),
        queue_datas=sorted(route.queue_datas, key=lambda each: each.broker_name),
    )


def versions_of(journal) -> History:
    return history_of(journal.namesrv, read_records(journal.lines()))


@given(st.randoms(use_true_random=True))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
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
            route = route_at(versions, topic, at)
            expected = route_of(replayed.state, topic)
            assert route.knowledge is Knowledge.KNOWN
            assert in_order(route.route) == in_order(expected)


@given(st.randoms(use_true_random=True))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
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
    versions = history_of("ns_9876", records[begin:])
    assert [event.cause for event in versions.events] == ["wipe_write_perm"]
    assert versions.row_at(TopicKey("T", "b0"), story.now).perm == 4


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
    assert route_at(versions, "T", story.now + 5).route is not None


def test_the_names_that_there_were():
    story = Story()
    story.registers()
    story.deleted()
    versions = versions_of(story.journal)
    assert sorted(versions.topics()) == ["T", "more", "other"]
    assert list(versions.keys_of_topic("T")) == [TopicKey("T", "b0")]
    assert versions.row_at(TopicKey("T", "b0"), story.now) is None
    assert list(versions.keys(GroupKey)) == [GroupKey("b0")]
    (version,) = versions.versions(TopicKey("T", "b0"))
    assert (version.ended_by, version.valid_to) == ("gone", story.now)


@given(st.randoms(use_true_random=True), st.integers(1, 12))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_with_a_limit_it_has_the_same_rows_from_a_later_time_on(chance, share):
    """Whatever the clock did, and whatever was lost."""
    journal = random_history(chance, 40, clock_jumps=True)
    records = read_records(journal.lines())
    whole = versions_of(journal)
    limited = History(journal.namesrv, limit_bytes=whole.size * share // 12)
    for step in steps(records, Rows):
        limited.take(step)
    first = limited.knows_from
    assert [event for event in whole.events if event.at > (limited.dropped_until or -1)] == [
        event for event in limited.events if event.at > (limited.dropped_until or -1)
    ]
    for at in {record.ts for record in records}:
        if limited.dropped_until is not None and at < limited.dropped_until:
            assert limited.knowledge(at) is not Knowledge.KNOWN
            continue
        assert limited.knowledge(at) is whole.knowledge(at)
        if limited.knowledge(at) is not Knowledge.KNOWN:
            continue
        assert first is not None
        assert at >= first
        for kind in KINDS:
            assert dict(limited.rows(kind, at)) == dict(whole.rows(kind, at))
        for topic in TOPICS:
            assert in_order(route_at(limited, topic, at).route) == in_order(route_at(whole, topic, at).route)
    for one, other in pairwise(limited.periods()):
        assert (one.until, one.state is other.state) == (other.since, False)


def topic_step(seq: int, perm: int, names: Iterable[str]) -> Changed:
    """A change as it is read from a journal: each name is text of its own."""
    made = TopicQueues(broker_name="b", rows=[(name, 8, 8, perm, 0) for name in names])
    return Changed(1, seq, seq, [msgspec.json.decode(msgspec.json.encode(made), type=TopicQueues)])


def kv_step(seq: int, key: str, value: str) -> Changed:
    return Changed(1, seq, seq, [Kv(namespace="N", key=key, value=value)])


def begun(limit: int | None, *steps: Changed) -> History:
    """A history that begins with what some steps made."""
    versions = History("ns", limit_bytes=limit)
    rows = Rows()
    for step in steps:
        rows.apply(step.records)
    versions.take(CheckpointApplied(1, 1, 1, rows))
    return versions


MIB = 1024 * 1024
NAMES = [f"Topic{number:06}" for number in range(1_000)]


def held_bytes(work: Callable[[], History]) -> tuple[History, int]:
    tracemalloc.start()
    try:
        versions = work()
        gc.collect()
        return versions, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


def switched(limit: int) -> History:
    versions = begun(limit, topic_step(1, 6, NAMES))
    for seq in range(2, 52):
        versions.take(topic_step(seq, 4 + 2 * (seq % 2), NAMES))
    return versions


def new_each_time(limit: int) -> History:
    versions = begun(limit)
    for seq in range(2, 62, 2):
        names = [f"{seq:06}{name:0>400}" for name in NAMES[:500]]
        versions.take(topic_step(seq, 6, names))
        versions.take(
            Changed(1, seq + 1, seq + 1, [TopicQueues(broker_name="b", rows=[(name,) for name in names])])
        )
    return versions


def mapped(limit: int) -> History:
    versions = begun(limit)
    for seq in range(2, 152):
        text = msgspec.Raw(b'{"x":"' + b"%06d" % seq * 10_000 + b'"}')
        versions.take(Changed(1, seq, seq, [TopicMapping(topic="T", broker_name="b", mapping=text)]))
    return versions


LAST_KV = 5_000


def configured(limit: int) -> History:
    versions = begun(limit, Changed(1, 1, 1, [Kv(namespace="N", key=name, value="v") for name in NAMES]))
    for seq in range(2, LAST_KV + 1):
        versions.take(kv_step(seq, "k", f"{seq}"))
    return versions


@pytest.mark.parametrize("work", [switched, new_each_time, mapped, configured])
def test_what_it_takes_is_bounded_and_the_newest_is_known(work):
    """44 permission changes of a broker with 100,000 topics took the console from 170 to 1,660 MiB."""
    limit = 2 * MIB
    versions, held = held_bytes(lambda: work(limit))
    assert held < 1.3 * limit
    assert versions.size <= limit
    assert versions.dropped_until is not None
    assert versions.knows_from == versions.dropped_until > 1
    last = versions.knows_up_to
    assert versions.knowledge(last) is Knowledge.KNOWN
    assert versions.knowledge(versions.knows_from - 1) is Knowledge.BEFORE


def come_and_gone(limit: int) -> History:
    """The history about a topic whose broker comes and goes."""
    versions = History("ns", "T", limit_bytes=limit)
    versions.take(CheckpointApplied(1, 1, 1, Rows()))
    for seq in range(2, 5_000, 2):
        versions.take(topic_step(seq, 6, ["T"]))
        versions.take(Changed(1, seq + 1, seq + 1, [TopicQueues(broker_name="b", rows=[("T",)])]))
    return versions


def test_a_history_about_a_name_keeps_no_version_that_was_dropped():
    limit = MIB // 2
    versions, held = held_bytes(lambda: come_and_gone(limit))
    assert held < 1.3 * limit
    since = [period.since.at for _, period in versions.valid_periods()]
    assert versions.knows_from <= since[0] < since[-1] == versions.knows_up_to - 1


def test_rows_that_went_leave_nothing_once_their_changes_are_dropped():
    versions = new_each_time(2 * MIB)
    assert len(list(versions.topics())) <= 2 * 500 + 500
    assert len(versions._versions[TopicKey]) == len(list(versions.topics()))


def test_rows_of_the_present_stay_although_they_are_more_than_the_limit():
    versions = begun(10_000, topic_step(1, 6, NAMES))
    for seq in range(2, 6):
        versions.take(topic_step(seq, 4 + 2 * (seq % 2), NAMES))
    assert len(list(versions.rows(TopicKey, 5))) == len(NAMES)
    assert versions.knows_from == 4
    assert [event.at for event in versions.events] == [5]


def test_kv_entries_are_the_same_after_older_ones_were_dropped():
    versions = configured(MIB)
    first = versions.knows_from
    assert versions.kv_at(first, "N")["k"] == f"{first}"
    assert versions.kv_at(LAST_KV, "N") == {**dict.fromkeys(NAMES, "v"), "k": f"{LAST_KV}"}
