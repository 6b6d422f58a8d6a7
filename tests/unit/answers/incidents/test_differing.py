"""The topics that name servers may disagree about."""

import pytest

from namekeeper.answers.incidents.differing import TopicRowsSeen, differing_topics
from namekeeper.answers.incidents.lost_topics import KeptRecords
from namekeeper.journal.contract.record import BrokerNameRemovedRecord, Record, TopicQueues
from namekeeper.journal.reading.history import Changed, CheckpointApplied
from tests.unit.answers.story import MINUTE

FOUR, EIGHT = (4, 4, 6, 0), (8, 8, 6, 0)


def rows(name: str, **topics: tuple[int, ...]) -> Record:
    return TopicQueues(broker_name=name, rows=[(topic, *row) for topic, row in topics.items()])


def seen(*changes: tuple[int, Record]) -> TopicRowsSeen:
    found = TopicRowsSeen(since=0)
    for number, (ts, record) in enumerate([(0, rows("b", T=FOUR, U=FOUR)), *changes]):
        found.take(Changed(1, number, ts, [record]))
    return found


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ([], [], set()),
        ([(MINUTE, rows("b", T=EIGHT))], [], {"T"}),
        ([(MINUTE, rows("b", T=EIGHT))], [(MINUTE + 29_999, rows("b", T=EIGHT))], set()),
        ([(MINUTE, rows("b", T=EIGHT))], [(MINUTE + 30_000, rows("b", T=EIGHT))], {"T"}),
        ([(MINUTE, rows("b", T=EIGHT)), (5 * MINUTE, rows("b", T=FOUR))], [], {"T"}),
        ([(MINUTE, rows("b", T=()))], [], {"T"}),
        ([(MINUTE, rows("b", T=FOUR))], [], {"T"}),  # a record names what has changed
        ([(MINUTE, BrokerNameRemovedRecord(broker_name="b"))], [], set()),
        ([(MINUTE, BrokerNameRemovedRecord(broker_name="b")), (9 * MINUTE, rows("b", T=FOUR, U=FOUR))], [], set()),
        ([(MINUTE, BrokerNameRemovedRecord(broker_name="b")), (9 * MINUTE, rows("b", T=FOUR))], [], {"U"}),
    ],
)  # fmt: skip
def test_a_topic_is_found_if_it_is_or_was_otherwise_somewhere(one, other, wanted):
    assert differing_topics([seen(*one), seen(*other)]) == wanted
    assert differing_topics([seen(*other), seen(*one)]) == wanted


def test_what_changed_before_the_time_does_not_count():
    found = TopicRowsSeen(since=2 * MINUTE)
    found.take(Changed(1, 1, 0, [rows("b", T=FOUR, U=FOUR)]))
    found.take(Changed(1, 2, MINUTE, [rows("b", T=EIGHT)]))
    found.take(Changed(1, 3, 2 * MINUTE, [rows("b", T=FOUR)]))
    assert differing_topics([found, seen()]) == set()


def test_a_checkpoint_that_shows_the_same_is_no_change():
    found = seen()
    for ts, record in ((MINUTE, rows("b", T=FOUR, U=FOUR)), (2 * MINUTE, rows("b", T=EIGHT))):
        state = KeptRecords()
        state.apply([record])
        found.take(CheckpointApplied(1, ts, ts, state))
    assert dict(found.changes) == {"b": [(2 * MINUTE, [("T", *EIGHT), ("U",)])]}
    assert found.counts == (1, 1)
