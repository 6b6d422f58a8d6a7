"""One topic and one broker over time: lanes for a plot."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from namekeeper.answers.row_changes import Key, Values
from namekeeper.answers.row_versions import PeriodState, RowVersions
from namekeeper.common.writable import is_writable
from namekeeper.model.broker import MASTER_ID
from namekeeper.pipeline.report.plots import Kind

__all__ = ["broker_lanes", "keys_of_broker", "topic_lanes"]

Bar = dict[str, Any]
"""`since`, `until` (None: up to the end), `kind` and `text`."""
StateOf = Callable[[int], tuple[Kind, str]]
"""Gives the state of a topic or a broker at a time."""

_TEXTS = {
    Kind.UP: "had a queue to write to",
    Kind.NOTICE: "had no queue to write to",
    Kind.UNREGISTERED: "had no route",
    Kind.UNKNOWN: "unknown",
    Kind.SERVER: "the name server was not running",
}


def topic_lanes(histories: Sequence[RowVersions], topic: str) -> list[dict[str, Any]]:
    """For each name server: when the topic had a queue to write to, no such queue, or no route."""
    return [
        {"label": each.namesrv, "bars": _bars(each, _topic_times(each, topic), _TopicStates(each, topic))}
        for each in histories
    ]


def broker_lanes(histories: Sequence[RowVersions], name: str) -> list[dict[str, Any]]:
    """For each name server and address of a broker: when it was registered."""
    return [
        {
            "label": f"{key[2]} at {each.namesrv}",
            "bars": _bars(each, _times(each, [key]), _LiveStates(each, key, name)),
        }
        for each in histories
        for key in sorted(keys_of_broker(each, name))
    ]


def keys_of_broker(versions: RowVersions, name: str) -> list[Key]:
    """The live rows that a broker ever had, by its name or its address."""
    return [
        key
        for key in versions.keys("live")
        if name == key[2] or any(v.values and v.values[0] == name for v in versions.versions(key))
    ]


class _TopicStates:
    def __init__(self, versions: RowVersions, topic: str) -> None:
        self._versions, self._topic = versions, topic

    def __call__(self, at: int) -> tuple[Kind, str]:
        every = self._versions.rows_of_topic(self._topic, at)
        rows = [(key[2], row) for key, row in every if key[0] == "topic"]
        if any(self._is_writable(name, row, at) for name, row in rows):
            kind = Kind.UP
        else:
            kind = Kind.NOTICE if rows else Kind.UNREGISTERED
        return kind, _TEXTS[kind]

    def _is_writable(self, name: str, row: Values, at: int) -> bool:
        _, write, perm, _ = row
        group = self._versions.version_at(("group", name), at)
        members = () if group is None or group.values is None else group.values[3]
        assert isinstance(members, tuple)
        assert isinstance(perm, int)
        assert isinstance(write, int)
        return is_writable(perm, write, has_master=any(member[0] == MASTER_ID for member in members))


class _LiveStates:
    def __init__(self, versions: RowVersions, key: Key, name: str) -> None:
        self._versions, self._key, self._name = versions, key, name

    def __call__(self, at: int) -> tuple[Kind, str]:
        version = self._versions.version_at(self._key, at)
        if version is None or version.values is None or self._name not in {version.values[0], self._key[2]}:
            return Kind.UNREGISTERED, "was not registered"
        return Kind.UP, f"was registered, id {version.values[1]}"


def _bars(versions: RowVersions, times: Iterable[int], state_of: StateOf) -> list[Bar]:
    """Periods of one state, in order and without a gap."""
    periods = versions.periods()
    first = versions.knows_from
    bars: list[Bar] = []
    for time in sorted({*times, *(period.since for period in periods)}):
        if first is None or time < first:
            continue
        period = next(each for each in reversed(periods) if each.since <= time)
        kind, text = _OF_PERIODS.get(period.state) or state_of(time)
        if bars and (bars[-1]["kind"], bars[-1]["text"]) == (kind, text):
            continue
        if bars:
            bars[-1]["until"] = time
        bars.append({"since": time, "until": None, "kind": kind, "text": text})
    if bars:
        bars[-1]["until"] = versions.knows_up_to
    return bars


_OF_PERIODS = {
    PeriodState.UNKNOWN: (Kind.UNKNOWN, _TEXTS[Kind.UNKNOWN]),
    PeriodState.STOPPED: (Kind.SERVER, _TEXTS[Kind.SERVER]),
}


def _topic_times(versions: RowVersions, topic: str) -> Iterator[int]:
    keys = set(versions.keys_of_topic(topic))
    groups: set[Key] = {("group", key[2]) for key in keys}
    return _times(versions, keys | groups)


def _times(versions: RowVersions, keys: Iterable[Key]) -> Iterator[int]:
    return (version.event.at for key in keys for version in versions.versions(key))
