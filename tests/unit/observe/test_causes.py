"""Changes that an observer saw get the causes that the log has within their windows, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.model.broker import BrokerData
from namekeeper.model.topic import QueueSpec
from namekeeper.observe.brokers import live_changed, live_gone
from namekeeper.observe.causes import DELAY_MS, ENTRIES_LIMIT, SUBJECTS_LIMIT, ChangeLog, has_cause_in_log
from namekeeper.observe.log_parser import LogEntry, LogKind
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerGroupGone,
    BrokerLiveGone,
    BrokerNameRemoved,
    Cause,
    Change,
    ClusterChanged,
    ConfigChanged,
    KvChanged,
    TopicQueuesChanged,
)
from namekeeper.route.rows import make_row

RECEIVED, WINDOW = 100_000, 1_000
A, B = "10.0.0.1:10911", "10.0.0.2:10911"
CLIENT = "10.0.0.9:5000"
ENDS = {
    LogKind.EXPIRED: Cause.EXPIRED,
    LogKind.CLOSED: Cause.CHANNEL_CLOSED,
    LogKind.UNREGISTERED: Cause.UNREGISTER,
    LogKind.REMOVED: Cause.OBSERVED,
}


def row(perm=6, queues=4):
    spec = QueueSpec(queues, queues, perm, 0)
    return make_row(spec, spec)


def gone(name="a", addr=A):
    return live_gone(("c", addr), name, 0, 1)


def change(*events, window_ms=WINDOW):
    return Change(Cause.OBSERVED, None, events, window_ms=window_ms)


def left(name="a", addr=A):
    """What an answer shows when the only broker of a name is gone."""
    return gone(name, addr), BrokerGroupGone(name), BrokerNameRemoved(name, {"t": row()})


def queues_changed(before, after, name="a"):
    return TopicQueuesChanged(name, before, after, tuple(before | after))


def wiped(*topics, name="a", perm=6):
    return queues_changed(
        {topic: row(perm) for topic in topics}, {topic: row(perm & ~2) for topic in topics}, name
    )


def explained(changes, *entries, since=RECEIVED - 200, until=RECEIVED + 50):
    log = ChangeLog()
    log.add(entries, since, until)
    return log.explained(changes, RECEIVED)


def causes(changes, *entries, **times):
    return [(one.cause, one.remote_addr) for one in explained(changes, *entries, **times)]


@pytest.mark.parametrize(("kind", "cause"), ENDS.items())
def test_the_end_of_a_broker_has_the_cause_of_its_line_in_one_change(kind, cause):
    whole = change(*left(), ClusterChanged("c", frozenset()))
    (found,) = explained([whole], LogEntry(kind, (A,)))
    assert (found.cause, found.remote_addr, found.window_ms) == (cause, None, WINDOW)
    assert [type(event) for event in found.events] == [type(event) for event in whole.events]
    (end,) = (event for event in found.events if isinstance(event, BrokerLiveGone))
    assert end.reason is cause


def test_two_brokers_that_went_for_different_reasons_are_two_changes():
    whole = change(*left(), *left("b", B), ClusterChanged("c", frozenset()))
    found = explained([whole], LogEntry(LogKind.EXPIRED, (A,)), LogEntry(LogKind.UNREGISTERED, (B,)))
    assert [one.cause for one in found] == [Cause.EXPIRED, Cause.UNREGISTER, Cause.OBSERVED]
    assert [len(one.events) for one in found] == [3, 3, 1]
    assert causes([change(*left(), *left("b", B))], LogEntry(LogKind.EXPIRED, (A,))) == [
        (Cause.EXPIRED, None),
        (Cause.OBSERVED, None),
    ]


def test_an_expired_broker_is_not_one_whose_connection_was_closed_afterwards():
    lines = LogEntry(LogKind.EXPIRED, (A,)), LogEntry(LogKind.CLOSED, (A,))
    assert causes([change(*left())], *lines) == [(Cause.EXPIRED, None)]


def test_a_broker_that_went_again_went_for_the_last_reason():
    kinds = LogKind.EXPIRED, LogKind.REGISTERED, LogKind.UNREGISTERED
    assert causes([change(*left())], *(LogEntry(kind, (A,)) for kind in kinds)) == [(Cause.UNREGISTER, None)]


def test_a_broker_that_is_back_before_the_log_is_read_went_for_the_reason_before():
    kinds = LogKind.CLOSED, LogKind.REGISTERED
    assert causes([change(*left())], *(LogEntry(kind, (A,)) for kind in kinds)) == [
        (Cause.CHANNEL_CLOSED, None)
    ]


def test_the_row_of_a_broker_name_that_got_another_broker_has_no_cause():
    came = live_changed(("c", B), "a", 0, 2, is_new=True)
    group = BrokerGroupChanged(BrokerData("c", "a", {0: B}))
    found = explained([change(gone(), came, group)], LogEntry(LogKind.CLOSED, (A,)))
    assert [(one.cause, len(one.events)) for one in found] == [
        (Cause.CHANNEL_CLOSED, 1),
        (Cause.OBSERVED, 2),
    ]


def test_a_line_outside_of_the_window_explains_nothing():
    entry = LogEntry(LogKind.CLOSED, (A,))
    first = RECEIVED - WINDOW
    assert causes([change(*left())], entry, since=0, until=first) == [(Cause.CHANNEL_CLOSED, None)]
    assert causes([change(*left())], entry, since=0, until=first - 1) == [(Cause.OBSERVED, None)]
    late = RECEIVED + DELAY_MS
    assert causes([change(*left())], entry, since=late, until=late) == [(Cause.CHANNEL_CLOSED, None)]
    assert causes([change(*left())], entry, since=late + 1, until=late + 1) == [(Cause.OBSERVED, None)]


def test_a_line_of_another_broker_explains_nothing():
    assert causes([change(*left())], LogEntry(LogKind.CLOSED, (B,))) == [(Cause.OBSERVED, None)]


def test_a_wiped_permission_was_wiped_by_its_client():
    assert causes([change(wiped("t"))], LogEntry(LogKind.WIPED, ("a",), CLIENT)) == [
        (Cause.WIPE_WRITE_PERM, CLIENT)
    ]
    back = queues_changed({"t": row(4)}, {"t": row(6)})
    assert causes([change(back)], LogEntry(LogKind.ADDED, ("a",), CLIENT)) == [(Cause.ADD_WRITE_PERM, CLIENT)]


@pytest.mark.parametrize(
    "event",
    [
        queues_changed({"t": row(6)}, {"t": row(4, queues=8)}),
        queues_changed({"t": row(6)}, {"t": row(2)}),
        queues_changed({"t": row(4)}, {"t": row(6)}),
        queues_changed({}, {"t": row(4)}),
        wiped("t", name="b"),
    ],
)
def test_a_line_about_a_wiped_permission_explains_no_other_change(event):
    assert causes([change(event)], LogEntry(LogKind.WIPED, ("a",), CLIENT)) == [(Cause.OBSERVED, None)]


def test_rows_that_changed_for_different_reasons_are_two_changes():
    both = queues_changed({"t": row(), "u": row(), "v": row()}, {"t": row(4), "u": row(6, queues=8)})
    found = explained(
        [change(both)],
        LogEntry(LogKind.WIPED, ("a",), CLIENT),
        LogEntry(LogKind.TOPIC_DELETED, ("v",)),
    )
    assert {(one.cause, one.events[0].topics) for one in found} == {
        (Cause.WIPE_WRITE_PERM, ("t",)),
        (Cause.OBSERVED, ("u",)),
        (Cause.DELETE_TOPIC, ("v",)),
    }
    for one in found:
        (event,) = one.events
        for topic in event.topics:
            assert event.before.get(topic) is both.before.get(topic)
            assert event.after.get(topic) is both.after.get(topic)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [(LogKind.TOPIC_DELETED, Cause.DELETE_TOPIC), (LogKind.TOPIC_LEFT_OUT, Cause.REGISTER)],
)
def test_a_topic_that_is_gone_was_deleted_or_left_out(kind, cause):
    assert causes([change(queues_changed({"t": row()}, {}))], LogEntry(kind, ("t",))) == [(cause, None)]


def test_kv_entries_and_properties_have_causes():
    put, deleted = KvChanged("n", "k", "v"), KvChanged("n", "k", None)
    lines = LogEntry(LogKind.KV_PUT, ("n", "k")), LogEntry(LogKind.KV_DELETED, ("n", "k"))
    assert causes([change(put)], *lines) == [(Cause.PUT_KV, None)]
    assert causes([change(deleted)], *lines) == [(Cause.DELETE_KV, None)]
    assert causes([change(deleted)], lines[0]) == [(Cause.OBSERVED, None)]
    configured = LogEntry(LogKind.CONFIGURED, (), CLIENT)
    assert causes([change(ConfigChanged({"a": "b"}))], configured) == [(Cause.UPDATE_CONFIG, CLIENT)]


def test_only_changes_that_a_line_explains_are_waited_for():
    assert has_cause_in_log([change(*left())])
    assert has_cause_in_log([change(wiped("t"))])
    assert has_cause_in_log([change(KvChanged("n", "k", "v"))])
    came = live_changed(("c", A), "a", 0, 1, is_new=True)
    assert not has_cause_in_log([change(came, queues_changed({}, {"t": row()}))])
    assert not has_cause_in_log([change(queues_changed({"t": row()}, {"t": row(queues=8)}))])


def test_the_memory_of_subjects_and_entries_is_bounded():
    log = ChangeLog()
    for number in range(SUBJECTS_LIMIT + 10):
        log.add([LogEntry(LogKind.CLOSED, (str(number),))], 0, 1)
    for _ in range(100):
        log.add([LogEntry(LogKind.CLOSED, (A,))], 0, 1)
    assert len(log._known) == SUBJECTS_LIMIT
    assert max(map(len, log._known.values())) == ENTRIES_LIMIT


ENTRIES = st.builds(
    LogEntry,
    st.sampled_from([kind for kind in LogKind if kind is not LogKind.CONFIGURED]),
    st.sampled_from([(A,), (B,), ("a",), ("t",), ("u",)]),
)


@given(st.lists(ENTRIES, max_size=20))
def test_whatever_the_log_has_each_row_changes_once_and_as_it_was_seen(entries):
    seen = [
        change(*left(), *left("b", B)),
        change(wiped("t", "u", name="d"), queues_changed({"t": row()}, {})),
    ]
    found = explained(seen, *entries)
    rows = [
        (event.broker_name, topic, event.before.get(topic), event.after.get(topic))
        for one in found
        for event in one.events
        if isinstance(event, TopicQueuesChanged)
        for topic in event.topics
    ]
    assert sorted(rows, key=str) == sorted(
        [("d", "t", row(), row(4)), ("d", "u", row(), row(4)), ("a", "t", row(), None)], key=str
    )
    others = [event for one in found for event in one.events if not isinstance(event, TopicQueuesChanged)]
    assert len(others) == 6
    assert {one.window_ms for one in found} == {WINDOW}
