"""Plans how to restore KV entries and topic rows that administrative requests changed in a period."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec import Struct, structs

from namekeeper.answers.phrases import caused_by
from namekeeper.answers.timeline import row_change_value
from namekeeper.history.rows import HistoryEvent, KvKey, Row, RowChange, TopicKey, names_of
from namekeeper.route.events import Cause

__all__ = ["LeftRow", "RestoredRow", "UndoPlan", "plan_undo"]

_REQUESTS = frozenset(
    {
        Cause.PUT_KV, Cause.DELETE_KV, Cause.WIPE_WRITE_PERM, Cause.ADD_WRITE_PERM, Cause.DELETE_TOPIC,
        Cause.REGISTER_TOPIC, Cause.OBSERVED,
    }
)  # fmt: skip
"""Causes of changes that people make at a name server itself. An observer does not see who made a change."""


class RestoredRow(Struct, frozen=True):
    """A row that has to change: from what it is now to what it was."""

    change: RowChange
    at: int
    """Wall ms of the change that is taken back."""
    cause: str
    peer: str


class LeftRow(Struct, frozen=True):
    """A row that is not restored."""

    change: RowChange
    why: str


class UndoPlan(Struct, frozen=True):
    """The rows of one name server that a plan restores, and those that it leaves."""

    restored: Sequence[RestoredRow]
    left: Sequence[LeftRow]

    def value(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "restored": [
                {
                    **structs.asdict(row_change_value(each.change)),
                    "at": each.at,
                    "cause": each.cause,
                    "peer": each.peer or None,
                }
                for each in self.restored
            ],
            "left": [
                {**structs.asdict(row_change_value(each.change)), "why": each.why} for each in self.left
            ],
        }


class _ChangedRow(Struct):
    """A row that a request changed in the period."""

    first: HistoryEvent
    before: Row | None
    last: HistoryEvent
    now: Row | None


def plan_undo(events: Iterable[HistoryEvent], until: int, broker_names: Collection[str]) -> UndoPlan:
    """The rows that requests changed in a period, as they were before.

    A row that something else changed later stays as it is: a broker's registration knows better.

    Args:
        events: all events of one name server since the start of the period, in order, up to the present.
        until: end of the period, wall ms.
        broker_names: names of the brokers that are registered at present.
    """
    restored: list[RestoredRow] = []
    left: list[LeftRow] = []
    changed = _changed_rows(events, until)
    for key in sorted(changed, key=lambda each: (each.kind, names_of(each))):
        row, first = changed[key], changed[key].first
        if row.now == row.before:
            continue
        change = RowChange(key, row.now, row.before)
        why = _why_not(key, row, broker_names)
        if why:
            left.append(LeftRow(change, why))
        else:
            restored.append(RestoredRow(change, first.at, first.cause, first.peer))
    return UndoPlan(restored, left)


def _changed_rows(events: Iterable[HistoryEvent], until: int) -> dict[KvKey | TopicKey, _ChangedRow]:
    changed: dict[KvKey | TopicKey, _ChangedRow] = {}
    for event in events:
        for row in event.rows:
            if not isinstance(row.key, KvKey | TopicKey):
                continue
            found = changed.get(row.key)
            if found is not None:
                found.last, found.now = event, row.after
            elif event.at <= until and event.cause in _REQUESTS:
                changed[row.key] = _ChangedRow(event, row.before, event, row.after)
    return changed


def _why_not(key: KvKey | TopicKey, row: _ChangedRow, broker_names: Collection[str]) -> str:
    """Why a row is not restored; empty if it is."""
    last = row.last
    if last.cause not in _REQUESTS:
        return f"it changed again: {caused_by(last.cause, last.peer) or 'nothing shows why'}"
    if isinstance(key, KvKey):
        return ""
    if row.before is None:
        return "it is new, and no request removes a topic from one broker"
    if key.broker_name not in broker_names:
        return "its broker is not registered, and brings the row when it registers"
    return ""
