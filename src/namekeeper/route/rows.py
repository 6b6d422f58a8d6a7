"""Rows of the topic tables: made, shared, and with another permission."""

from collections.abc import Callable, Mapping

from msgspec import structs

from namekeeper.model.perm import Perm
from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import TopicRow

__all__ = ["READ_WRITE", "changed_rows", "make_row", "with_perm", "without_write"]

READ_WRITE = Perm.READ | Perm.WRITE

MAX_SHARED_ROWS = 65_536
"""Rows kept for sharing. Real clusters have dozens; at this number, made up by a peer, all are dropped."""

_shared_rows: dict[tuple[QueueSpec, QueueSpec], TopicRow] = {}


def make_row(effective: QueueSpec, registered: QueueSpec) -> TopicRow:
    """The one shared row of these values."""
    key = (effective, registered)
    row = _shared_rows.get(key)
    if row is None:
        if len(_shared_rows) >= MAX_SHARED_ROWS:
            _shared_rows.clear()
        row = _shared_rows[key] = TopicRow(effective, registered)
    return row


def with_perm(row: TopicRow, perm: int) -> TopicRow:
    """The row with another permission in effect; what was registered stays."""
    return make_row(structs.replace(row.effective, perm=int(perm)), row.registered)


def without_write(row: TopicRow) -> TopicRow:
    """The row without the write bit in effect."""
    return with_perm(row, row.effective.perm & ~Perm.WRITE)


def changed_rows(rows: Mapping[str, TopicRow], change: Callable[[TopicRow], TopicRow]) -> dict[str, TopicRow]:
    """The rows that `change` makes different, in their new form; it is called once for each shared row."""
    new_by_id: dict[int, TopicRow] = {}
    changed = {}
    for topic, row in rows.items():
        new = new_by_id.get(id(row))
        if new is None:
            new = change(row)
            new_by_id[id(row)] = new = row if new == row else new
        if new is not row:
            changed[topic] = new
    return changed
