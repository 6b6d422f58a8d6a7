"""A checkpoint counts if its rows are as many as its end says, whether they were read or skipped."""

import pytest

from namekeeper.journal.contract.record import CheckpointBegin, CheckpointEnd, TopicQueues
from namekeeper.journal.reading.open_checkpoint import OpenCheckpoint
from namekeeper.journal.reading.state import State

PLACE = {"v": 1, "namesrv": "n", "boot": 1, "end": True, "ts": 1, "up_ms": 1}


def begun() -> OpenCheckpoint:
    return OpenCheckpoint(CheckpointBegin(**PLACE, seq=1, change=1, reason="start"), State())


def row(seq: int, topic: str) -> TopicQueues:
    rows = [(topic, 4, 4, 6, 0)]
    return TopicQueues(**PLACE, seq=seq, change=seq, checkpoint=1, broker_name="b", rows=rows)


def end(**counts: int) -> CheckpointEnd:
    return CheckpointEnd(**PLACE, seq=9, change=9, checkpoint=1, counts=counts)


@pytest.mark.parametrize(("count", "is_complete"), [(1, False), (2, True), (3, False)])
def test_its_rows_are_counted_and_applied(count, is_complete):
    checkpoint = begun()
    checkpoint.add(row(2, "T"))
    checkpoint.add(row(3, "U"))
    assert checkpoint.is_completed_by(end(topic_queues=count)) == is_complete
    assert checkpoint.state.tables.topics_of("b").keys() == {"T", "U"}
    assert not checkpoint.is_skipped


def test_rows_that_are_passed_over_count_too():
    checkpoint = begun()
    checkpoint.add(row(2, "T"))
    checkpoint.skip({"topic_queues": 2, "cluster": 1})
    assert checkpoint.is_skipped
    assert checkpoint.is_completed_by(end(topic_queues=3, cluster=1))
    assert not checkpoint.is_completed_by(end(topic_queues=3))
