"""One topic and one broker over time: lanes for a plot."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Generic, TypeVar

from namekeeper.common.writable import is_writable
from namekeeper.history.history import History
from namekeeper.history.rows import GroupKey, Key, LiveKey, Row, TopicKey, names_of
from namekeeper.history.timeline import PeriodState
from namekeeper.journal.contract.record import BrokerGroup, BrokerLive, TopicQueuesRow
from namekeeper.model.broker import MASTER_ID
from namekeeper.pipeline.report.plots import Kind

__all__ = ["broker_lanes", "keys_of_broker", "topic_lanes"]

Bar = dict[str, Any]
"""`since`, `until` (None: up to the end), `kind` and `text`."""
_TEXTS = {
    Kind.UP: "had a queue to write to",
    Kind.NOTICE: "had no queue to write to",
    Kind.UNREGISTERED: "had no route",
    Kind.UNKNOWN: "unknown",
    Kind.SERVER: "the name server was not running",
}


def topic_lanes(histories: Sequence[History], topic: str) -> list[dict[str, Any]]:
    """For each name server: when the topic had a queue to write to, no such queue, or no route."""
    return [{"label": each.namesrv, "bars": _bars(each, _TopicStates(each, topic))} for each in histories]


def broker_lanes(histories: Sequence[History], name: str) -> list[dict[str, Any]]:
    """For each name server and address of a broker: when it was registered."""
    return [
        {
            "label": f"{key.broker_addr} at {each.namesrv}",
            "bars": _bars(each, _LiveStates(each, key, name)),
        }
        for each in histories
        for key in sorted(keys_of_broker(each, name), key=names_of)
    ]


def keys_of_broker(history: History, name: str) -> list[LiveKey]:
    """The live rows that a broker ever had, by its name or its address."""
    return [
        key
        for key in history.keys(LiveKey)
        if name == key.broker_addr or any(each.row.broker_name == name for each in history.versions(key))
    ]


R = TypeVar("R", bound=Row)
K = TypeVar("K", bound=Key[Any])


class _Changes(Generic[K, R]):
    """The changes of some rows in the order of time; each is given once."""

    def __init__(self, changes: Iterable[tuple[int, K, R | None]]) -> None:
        self._changes = sorted(changes, key=itemgetter(0))
        self._taken = 0

    def times(self) -> Iterator[int]:
        """The times of all changes."""
        return (at for at, _, _ in self._changes)

    def up_to(self, at: int) -> Iterator[tuple[K, R | None]]:
        """The rows that were not given yet, up to a time."""
        while self._taken < len(self._changes) and self._changes[self._taken][0] <= at:
            _, key, row = self._changes[self._taken]
            self._taken += 1
            yield key, row


class _TopicStates:
    """The states of a topic, for times that rise: each change of a row is looked at once."""

    def __init__(self, history: History, topic: str) -> None:
        keys = [key for key in history.keys_of_topic(topic) if isinstance(key, TopicKey)]
        groups = {GroupKey(key.broker_name) for key in keys}
        every: list[TopicKey | GroupKey] = [*keys, *groups]
        self._changes: _Changes[TopicKey | GroupKey, Any] = _Changes(
            (at, key, row) for key in every for at, row in history.changes_of(key)
        )
        self._rows: dict[str, TopicQueuesRow] = {}
        self._groups: dict[str, BrokerGroup] = {}
        self._writable: set[str] = set()
        """Broker names with a queue to write to."""

    def times(self) -> Iterator[int]:
        """The times at which the state may change."""
        return self._changes.times()

    def __call__(self, at: int) -> tuple[Kind, str]:
        for key, row in self._changes.up_to(at):
            self._take(key, row)
        kind = Kind.UP if self._writable else Kind.NOTICE if self._rows else Kind.UNREGISTERED
        return kind, _TEXTS[kind]

    def _take(self, key: TopicKey | GroupKey, row: Any) -> None:  # noqa: ANN401 - of the kind of the key
        name = key.broker_name
        of_kind: dict[str, Any] = self._rows if isinstance(key, TopicKey) else self._groups
        if row is None:
            of_kind.pop(name, None)
        else:
            of_kind[name] = row
        if self._is_writable(name):
            self._writable.add(name)
        else:
            self._writable.discard(name)

    def _is_writable(self, name: str) -> bool:
        row, group = self._rows.get(name), self._groups.get(name)
        if row is None:
            return False
        has_master = group is not None and MASTER_ID in group.broker_addrs
        return is_writable(row.perm, row.write_queue_nums, has_master=has_master)


class _LiveStates:
    """Whether a broker was registered, for times that rise."""

    def __init__(self, history: History, key: LiveKey, name: str) -> None:
        self._changes: _Changes[LiveKey, BrokerLive] = _Changes(
            (at, key, row) for at, row in history.changes_of(key)
        )
        self._is_by_address = name == key.broker_addr
        self._row: BrokerLive | None = None
        self._name = name

    def times(self) -> Iterator[int]:
        """The times at which the state may change."""
        return self._changes.times()

    def __call__(self, at: int) -> tuple[Kind, str]:
        for _, row in self._changes.up_to(at):
            self._row = row
        held = self._row
        if held is None or not (self._is_by_address or held.broker_name == self._name):
            return Kind.UNREGISTERED, "was not registered"
        return Kind.UP, f"was registered, id {held.broker_id}"


def _bars(history: History, states: _TopicStates | _LiveStates) -> list[Bar]:
    """Periods of one state, in order and without a gap."""
    periods = history.periods()
    begins = [period.since for period in periods]
    first = history.knows_from
    bars: list[Bar] = []
    for time in sorted({*states.times(), *begins}):
        if first is None or time < first:
            continue
        period = periods[bisect_right(begins, time) - 1]
        kind, text = _OF_PERIODS.get(period.state) or states(time)
        if bars and (bars[-1]["kind"], bars[-1]["text"]) == (kind, text):
            continue
        if bars:
            bars[-1]["until"] = time
        bars.append({"since": time, "until": None, "kind": kind, "text": text})
    if bars:
        bars[-1]["until"] = history.knows_up_to
    return bars


_OF_PERIODS = {
    PeriodState.UNKNOWN: (Kind.UNKNOWN, _TEXTS[Kind.UNKNOWN]),
    PeriodState.STOPPED: (Kind.SERVER, _TEXTS[Kind.SERVER]),
}
