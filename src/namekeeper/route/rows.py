"""Rows of the topic tables: made, shared, with another permission; and incremental copies of tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from msgspec import structs

from namekeeper.model.perm import Perm
from namekeeper.model.topic import QueueSpec
from namekeeper.route.events import TopicRow
from namekeeper.route.tables import RouteTables

__all__ = [
    "READ_WRITE",
    "ROWS_BY_SPEC",
    "ChangedTable",
    "RowsBySpec",
    "TableCopies",
    "make_row",
    "with_perm",
    "without_write",
]

READ_WRITE = Perm.READ | Perm.WRITE

MAX_SHARED_ROWS = 65_536
"""Most shared rows kept. Real clusters have dozens. If a peer makes up this many, the server drops all."""

CHANGED_SLICE = 10_000
"""Rows changed in one slice: about a millisecond."""

COPIED_SLICE = 50_000
"""Rows copied in one slice, without a look at them: about a millisecond."""

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


class RowsBySpec:
    """Rows by the identity of their registered spec: bodies share specs, so nearly every row is cached."""

    __slots__ = ("_rows", "_specs", "_strip_write")

    def __init__(self, *, strip_write: bool) -> None:
        """Start empty; with `strip_write`, the rows are without the write bit in effect."""
        self._strip_write = strip_write
        self._rows: dict[int, TopicRow] = {}
        self._specs: dict[int, QueueSpec] = {}
        """The specs themselves: as long as one is here, no other has its identity."""

    def of(self, specs: list[QueueSpec]) -> list[TopicRow]:
        """The row of each spec."""
        try:
            return list(map(self._rows.__getitem__, map(id, specs)))
        except KeyError:
            self._make(dict(zip(map(id, specs), specs, strict=True)))
            return list(map(self._rows.__getitem__, map(id, specs)))

    def _make(self, specs: dict[int, QueueSpec]) -> None:
        if len(self._rows) + len(specs) > MAX_SHARED_ROWS:
            self._rows.clear()
            self._specs.clear()
        self._specs.update(specs)
        for spec_id, spec in specs.items():
            if spec_id not in self._rows:
                row = make_row(spec, spec)
                self._rows[spec_id] = without_write(row) if self._strip_write else row


ROWS_BY_SPEC = {strip: RowsBySpec(strip_write=strip) for strip in (False, True)}
"""The rows of all registrations: with the write bit as registered, and without."""


def with_perm(row: TopicRow, perm: int) -> TopicRow:
    """The row with another permission in effect; the registered permission stays."""
    return make_row(structs.replace(row.effective, perm=int(perm)), row.registered)


def without_write(row: TopicRow) -> TopicRow:
    """The row without the write bit in effect."""
    return with_perm(row, row.effective.perm & ~Perm.WRITE)


class ChangedTable:
    """A topic table whose rows change incrementally, beside the one in use."""

    __slots__ = ("after", "before", "changed")

    def __init__(self, before: Mapping[str, TopicRow]) -> None:
        self.before = before
        self.after: dict[str, TopicRow] = {}
        self.changed: list[str] = []
        """Topics whose row changed."""

    def build(self, change: Callable[[TopicRow], TopicRow]) -> Iterator[None]:
        """Change every row by `change`."""
        rows = iter(self.before.items())
        new_by_id: dict[int, TopicRow] = {}
        some = list(islice(rows, CHANGED_SLICE))
        while some:
            changed = _changed(some, change, new_by_id)
            self.after.update(some)
            self.after.update(changed)
            self.changed += changed
            some = list(islice(rows, CHANGED_SLICE))
            if some:
                yield


class TableCopies:
    """Copies of topic tables, made incrementally before the commit that changes and uses them."""

    __slots__ = ("_copies",)

    def __init__(self) -> None:
        self._copies: dict[str, tuple[Mapping[str, TopicRow], dict[str, TopicRow]]] = {}

    def make(self, tables: RouteTables, broker_names: Iterable[str]) -> Iterator[None]:
        """Copy the table of each broker name."""
        copied = 0
        for name in broker_names:
            table = tables.topics_of(name)
            if copied and copied + len(table) > COPIED_SLICE:
                copied = 0
                yield
            copied += len(table)
            self._copies[name] = (table, dict(table))

    def take(self, tables: RouteTables, broker_name: str) -> dict[str, TopicRow]:
        """A copy of the table as it is now, for the caller to change."""
        table = tables.topics_of(broker_name)
        made_of, copy = self._copies.pop(broker_name, (None, {}))
        return copy if made_of is table else dict(table)


def _changed(
    rows: Iterable[tuple[str, TopicRow]],
    change: Callable[[TopicRow], TopicRow],
    new_by_id: dict[int, TopicRow],
) -> dict[str, TopicRow]:
    """The rows that become different; `new_by_id` has the new form of each shared row met so far."""
    changed = {}
    for topic, row in rows:
        new = new_by_id.get(id(row))
        if new is None:
            new = change(row)
            new_by_id[id(row)] = new = row if new == row else new
        if new is not row:
            changed[topic] = new
    return changed
