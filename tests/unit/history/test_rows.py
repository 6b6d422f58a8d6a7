"""Rows of a history: what a record says of them, their keys, and the periods in which they were valid."""

import pytest
from msgspec import Raw, structs

from namekeeper.history.rows import (
    FilterKey,
    GroupKey,
    HistoryEvent,
    KvKey,
    LiveKey,
    MappingKey,
    PropertyKey,
    Rows,
    RowVersion,
    TopicKey,
    ValidPeriod,
    What,
    joined,
    names_of,
    rows_in,
    size_of,
)
from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    Config,
    FilterServers,
    Kv,
    TopicMapping,
    TopicQueues,
    TopicQueuesRow,
)

LIVE = BrokerLive(cluster="c", broker_addr="a:1", broker_name="b", broker_id=0, gen=3, data_version=(0, 1, 2))


@pytest.mark.parametrize(
    ("record", "key", "row"),
    [
        (LIVE, LiveKey("c", "a:1"), LIVE),
        (BrokerGroup(broker_name="b"), GroupKey("b"), BrokerGroup(broker_name="b")),
        (TopicQueues(broker_name="b", rows=[("T", 8, 4, 6, 0)]), TopicKey("T", "b"), TopicQueuesRow("T", 8, 4, 6, 0)),
        (TopicQueues(broker_name="b", rows=[("T",)]), TopicKey("T", "b"), None),
        (FilterServers(cluster="c", broker_addr="a:1"), FilterKey("c", "a:1"), None),
        (Kv(namespace="n", key="k", gone=True), KvKey("n", "k"), None),
        (TopicMapping(topic="T", broker_name="b", gone=True), MappingKey("T", "b"), None),
        (Config(properties={"p": "v"}), PropertyKey("p"), Config(properties={"p": "v"})),
    ],
)  # fmt: skip
def test_a_record_names_the_rows_in_it(record, key, row):
    assert list(rows_in(record)) == [(key, row)]
    made = Rows()
    made.apply([record])
    assert made.of == ({} if row is None else {key: row})


def test_a_row_has_neither_the_envelope_nor_the_connection_of_its_record():
    record = structs.replace(
        LIVE, seq=7, ts=9, cause="register_broker", peer="p:1", channel=5, remote_addr="p:1", body_bytes=80
    )
    assert list(rows_in(record)) == [(LiveKey("c", "a:1"), LIVE)]


def test_a_key_has_the_fields_that_name_the_row_in_its_record():
    for key in (LiveKey("c", "a:1"), GroupKey("b"), TopicKey("T", "b"), KvKey("n", "k"), PropertyKey("p")):
        assert key == type(key)(*names_of(key))
    assert LiveKey("x", "y") != FilterKey("x", "y")


def test_keys_are_those_of_the_records():
    """A key names fields of its record, in the order of the record."""
    for key, record in (
        (LiveKey, BrokerLive), (GroupKey, BrokerGroup), (MappingKey, TopicMapping), (FilterKey, FilterServers),
        (KvKey, Kv),
    ):  # fmt: skip
        fields = list(record.__struct_fields__)
        found = [fields.index(name) for name in key.__struct_fields__]
        assert found == sorted(found)


def event(number: int, what: What = What.CHANGE) -> HistoryEvent:
    return HistoryEvent(10 * number, "ns", what, number=number)


ROW = TopicQueuesRow("T", 8, 8, 6, 0)


def test_a_row_is_valid_until_a_loss_and_again_from_the_event_that_shows_it():
    begun, lost, shown, ended = event(1), event(3, What.LOST), event(4), event(9)
    version = RowVersion(ROW, begun, ended, "gone", named_again=(shown,))
    checkpoint = event(6, What.CORRECTED)
    found = [(each.since, each.until, each.ended_by) for each in version.periods([lost, checkpoint])]
    assert found == [(begun, lost, "unknown"), (shown, ended, "gone")]


def test_at_checkpoints_alone_a_row_is_known_again_after_a_loss():
    begun, lost, shown, ended = event(1), event(3, What.LOST), event(4), event(9)
    version = RowVersion(ROW, begun, ended, "gone", named_again=(shown,))
    marks = [event(0, What.CORRECTED), lost, checkpoint := event(6, What.CORRECTED)]
    found = [(each.since, each.until) for each in version.periods(marks, at_checkpoints=True)]
    assert found == [(begun, lost), (checkpoint, ended)]
    within = RowVersion(ROW, event(4), event(5), "gone")
    assert list(within.periods(marks, at_checkpoints=True)) == []
    assert [each.since for each in RowVersion(ROW, event(4)).periods(marks, at_checkpoints=True)] == [
        checkpoint
    ]


def test_before_the_first_checkpoint_no_row_is_known():
    version = RowVersion(ROW, event(1), event(9), "gone")
    first = event(3, What.CORRECTED)
    assert [each.since for each in version.periods([first], at_checkpoints=True)] == [first]
    assert list(version.periods([], at_checkpoints=True)) == []


def test_a_row_that_nothing_shows_after_a_stop_has_ended_with_it():
    begun, stopped = event(1), event(3, What.STOPPED)
    version = RowVersion(ROW, begun, event(4, What.STARTED), "stopped")
    (period,) = version.periods([stopped])
    assert (period.until, period.ended_by) == (stopped, "stopped")


def test_a_row_is_removed_by_the_last_event_that_says_so():
    ended, again = event(3), event(5)
    version = RowVersion(ROW, event(1), ended, "gone", named_again=(again,))
    assert [version.removed_by(at) for at in (29, 30, 49, 50)] == [None, ended, ended, again]
    assert [version.is_valid(at) for at in (9, 10, 29, 30)] == [False, True, True, False]


def test_the_text_of_a_row_counts_for_its_size():
    small, large = (TopicMapping(topic="T", broker_name="b", mapping=Raw(b"x" * n)) for n in (1, 5_001))
    assert size_of(large) - size_of(small) == 5_000
    assert size_of(ROW) == 0


def row(perm: int) -> TopicQueuesRow:
    return TopicQueuesRow("T", 8, 8, perm, 0)


def test_a_value_that_another_one_follows_in_the_instant_of_its_end_was_changed():
    gone = HistoryEvent(20, "ns", What.CHANGE, number=2)
    one = ValidPeriod(row(6), HistoryEvent(10, "ns", What.CHANGE, number=1), gone, "gone")
    other = ValidPeriod(row(4), HistoryEvent(20, "ns", What.CHANGE, number=3))
    found = joined([one, other], lambda period: period.row)
    assert [(each.row.perm, each.ended_by) for each in found] == [(6, "changed"), (4, "")]


def test_a_value_that_lasted_for_no_time_is_left_out():
    at = HistoryEvent(10, "ns", What.CHANGE, number=1)
    after = HistoryEvent(30, "ns", What.CHANGE, number=3)
    found = joined(
        [ValidPeriod(row(6), at, at, "gone"), ValidPeriod(row(4), after)], lambda period: period.row
    )
    assert [each.row.perm for each in found] == [4]
