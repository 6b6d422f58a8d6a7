"""The sessions of a broker at each name server, how long it was away between them, and flaps."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from namekeeper.console.subjects import keys_of_broker
from namekeeper.history.history import History
from namekeeper.history.rows import HistoryEvent, LiveKey, RowVersion, What
from namekeeper.history.timeline import PeriodState, StatePeriod
from namekeeper.journal.contract.record import BrokerLive

__all__ = ["FLAPS_FROM", "WAS_THERE", "broker_absences", "broker_sessions"]

HOUR_MS = 3_600_000
FLAPS_FROM = 2
"""A broker that went so often within an hour flaps."""
WAS_THERE = "was_there"
"""The cause of a session that the first complete checkpoint shows: it began before the known time."""
_NOT_GONE = frozenset({PeriodState.STOPPED, PeriodState.UNKNOWN})
"""Ends of a session that say nothing of the broker: its name server stopped, or records were lost."""
_NOT_ENDED: Mapping[str, Any] = {"until": None, "to_cause": "", "to_peer": "", "to_closed_by": ""}


def broker_sessions(histories: Sequence[History], name: str) -> list[dict[str, Any]]:
    """The sessions of a broker, by name or address, at each name server, newest first.

    An open session has no `until`; `knows_up_to` says how far it is known. `away_ms` is how long the broker
    was away before a session, and `away_after_ms` after the last one; None where it is not known to have
    gone. Time of which nothing is known is not counted.
    """
    found = [
        session
        for each in histories
        for key in keys_of_broker(each, name)
        for session in _with_absences(each, _sessions(each, key, name))
    ]
    return sorted(found, key=lambda session: (session["since"], session["namesrv"]), reverse=True)


def broker_absences(sessions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """How often and for how long a broker was away, at each name server and address.

    Args:
        sessions: as `broker_sessions` gives them.
    """
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for session in sessions:
        found.setdefault((session["namesrv"], session["cluster"], session["addr"]), []).append(session)
    return [_absences(found[key]) for key in sorted(found)]


def _absences(sessions: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The absences of one address at one name server; its sessions are given newest first."""
    last = sessions[0]
    is_away = last["away_after_ms"] is not None
    away = [(last["until"], last["away_after_ms"])] if is_away else []
    away += [(older["until"], newer["away_ms"]) for newer, older in pairwise(sessions) if newer["away_ms"]]
    times = [ms for _, ms in away]
    hours = Counter(at // HOUR_MS * HOUR_MS for at, _ in away)
    return {
        "namesrv": last["namesrv"],
        "addr": last["addr"],
        "is_away": is_away,
        "went": len(away),
        "away_ms": sum(times),
        "longest_ms": max(times, default=0),
        "flaps": [
            {"hour": hour, "went": count} for hour, count in sorted(hours.items()) if count >= FLAPS_FROM
        ],
    }


def _with_absences(history: History, sessions: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The same sessions of one address, oldest first, each with how long it was away before or after."""
    all_of_them = list(sessions)
    for before, session in zip([None, *all_of_them], all_of_them, strict=False):
        away_ms = None if before is None else _away_ms(history, before, session["since"])
        after_ms = None
        if session is all_of_them[-1] and session["until"] is not None:
            after_ms = _away_ms(history, session, session["knows_up_to"])
        yield {**session, "away_ms": away_ms, "away_after_ms": after_ms}


def _away_ms(history: History, session: dict[str, Any], until: int) -> int | None:
    """How much of the time after a session is known; None if it only ended with its name server."""
    if session["to_cause"] in _NOT_GONE:
        return None
    since: int = session["until"]
    return sum(
        max(0, min(until, period.until or until) - max(since, period.since))
        for period in history.periods()
        if period.state is PeriodState.UP
    )


def _sessions(history: History, key: LiveKey, name: str) -> Iterator[dict[str, Any]]:
    """The sessions behind one address, oldest first: each begins with a new generation."""
    begun: RowVersion[BrokerLive] | None = None
    last: RowVersion[BrokerLive] | None = None
    for version in history.versions(key):
        row = version.row
        is_its = name in {row.broker_name, row.broker_addr}
        if begun is not None and last is not None:
            goes_on = is_its and row.gen == begun.row.gen and last.ended is version.begun
            if goes_on:
                last = version
                continue
            yield _session(history, begun, last)
            begun = None
        if is_its:
            begun = last = version
    if begun is not None and last is not None:
        yield _session(history, begun, last)


def _session(history: History, begun: RowVersion[BrokerLive], last: RowVersion[BrokerLive]) -> dict[str, Any]:
    """A session from its first row to its last one."""
    session = _begun(history, begun)
    if last.ended is not None:
        return {**session, **_ended(history, last.ended, session["since"])}
    stops = [each for each in history.periods()[-1:] if each.state is PeriodState.STOPPED]
    return {**session, **(_ended_by(stops[0]) if stops else _NOT_ENDED)}


def _ended(history: History, event: HistoryEvent, began: int) -> dict[str, Any]:
    """When and why a session ended: one that was found gone ended when its name server did, or in a loss."""
    if event.what in {What.STARTED, What.CORRECTED}:
        for period in reversed(history.periods()):
            is_before = period.since < event.at or event.what is What.STARTED
            if period.state is not PeriodState.UP and began <= period.since <= event.at and is_before:
                return _ended_by(period)
    return {
        "until": event.at,
        "to_cause": event.cause or event.what,
        "to_peer": event.peer,
        "to_closed_by": event.closed_by,
        **({"until_window_ms": event.window_ms} if event.window_ms else {}),
    }


def _ended_by(period: StatePeriod) -> dict[str, Any]:
    return {"until": period.since, "to_cause": period.state, "to_peer": "", "to_closed_by": ""}


def _begun(history: History, version: RowVersion[BrokerLive]) -> dict[str, Any]:
    first, event, row = history.knows_from, version.begun, version.row
    was_there = event.what is What.CORRECTED and first is not None and event.at <= first
    return {
        "namesrv": history.namesrv, "knows_up_to": history.knows_up_to, "cluster": row.cluster,
        "addr": row.broker_addr, "broker_name": row.broker_name, "broker_id": row.broker_id,
        "since": event.at, "from_cause": WAS_THERE if was_there else event.cause or event.what,
        "from_peer": event.peer, **({"since_window_ms": event.window_ms} if event.window_ms else {}),
    }  # fmt: skip
