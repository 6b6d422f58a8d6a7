"""A checkpoint: the whole state of a server at one position, as records."""

from collections import Counter
from collections.abc import Iterator

from namekeeper.journal.contract.encode import records_of_event, topic_records
from namekeeper.journal.contract.record import CheckpointBegin, CheckpointEnd, Record
from namekeeper.journal.recording.snapshot import Snapshot

__all__ = ["checkpoint_records"]


def checkpoint_records(snapshot: Snapshot, reason: str, cluster_label: str = "") -> Iterator[Record]:
    """The records of a checkpoint: its start, every row, its end with the counts.

    Each is a change of its own. All but the first have the first one's seq as `checkpoint`. The journal may
    have other changes between them.

    Args:
        snapshot: the state at the position of the first record.
        reason: start, interval, recovery or retention.
        cluster_label: label of the cluster that the name server belongs to; empty: none.
    """
    yield CheckpointBegin(reason=reason, cluster_label=cluster_label)
    counts: Counter[str] = Counter()
    for record in _rows(snapshot):
        counts[record.kind] += 1
        yield record
    yield CheckpointEnd(counts=dict(counts))


def _rows(snapshot: Snapshot) -> Iterator[Record]:
    for event in snapshot.events:
        yield from records_of_event(event)
    for broker_name, table in snapshot.topic_tables.items():
        yield from topic_records(broker_name, table, table)
