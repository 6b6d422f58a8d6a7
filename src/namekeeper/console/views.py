"""Makes the values of each view of the page: from the query of a URL to a value for JSON."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from namekeeper.answers.audit import AuditQuery, audit_values
from namekeeper.answers.evidence import DAY_MS
from namekeeper.answers.explain import explain
from namekeeper.answers.phrases import CLOSED_BY
from namekeeper.answers.render import RouteAt, explain_knowledge, explanation_values, route_values
from namekeeper.answers.row_versions import RowVersions
from namekeeper.answers.source import HistorySource
from namekeeper.answers.times import LATEST_MS, instant_of
from namekeeper.clock import Clock
from namekeeper.common.near_names import did_you_mean
from namekeeper.console.broker_sessions import WAS_THERE, broker_absences, broker_sessions
from namekeeper.console.changes import ChangeQuery, beside, change_rows
from namekeeper.console.difference import difference
from namekeeper.console.evidence_links import broker_words, evidence_links
from namekeeper.console.histories import Histories
from namekeeper.console.instants import RowsHeld, end_of, held_by
from namekeeper.console.search import found_names
from namekeeper.console.subjects import broker_lanes, topic_lanes
from namekeeper.console.tables import (
    ROWS_LIMIT,
    TableQuery,
    broker_rows,
    namesrv_rows,
    topic_rows,
    troubles,
)
from namekeeper.errors import ConfigError, RemotingError
from namekeeper.http.watchers import WhoKnows
from namekeeper.model.perm import format_perm
from namekeeper.pipeline.report.columns import CAUSES
from namekeeper.pipeline.report.html import SHAPES

__all__ = ["ConsoleViews", "Query"]

Query = Mapping[str, str]

_READERS_AT_ONCE = 2
"""Requests that read journals at once: each reads the state of a journal into memory."""
_KEPT, _ROWS_KEPT = 4, 100_000
"""Instants whose rows are cached, because a slider is moved back and forth; and the rows in those before the
last one."""


class ConsoleViews:
    """Answers the requests of the page.

    Args:
        histories: what is shown; whoever calls holds its lock, but for `why`, `audit` and `who_knows`.
        open_source: opens the journals for `why` and `audit`; None if there are none.
        clock: tells the present.
        who_knows: asks name servers who has asked for a topic; by the addresses of their operators' pages.
    """

    def __init__(
        self,
        histories: Histories,
        open_source: Callable[[], HistorySource] | None,
        clock: Clock,
        who_knows: Callable[[str], Mapping[str, WhoKnows | RemotingError]] = lambda _topic: {},
    ) -> None:
        self._histories = histories
        self._open_source = open_source
        self._clock = clock
        self._who_knows = who_knows
        self._kept: dict[tuple[int, int | None], list[RowsHeld]] = {}
        self._reading_places = threading.BoundedSemaphore(_READERS_AT_ONCE)

    def overview(self, query: Query) -> dict[str, Any]:
        """The name servers at an instant, and the begin and end of the known time."""
        at = self._instant(query, "at")
        rows = namesrv_rows(self._histories.followed, self._held(at))
        firsts = [row["knows_from"] for row in rows if row["knows_from"] is not None]
        return {
            "revision": self._histories.revision,
            "now": self._clock.now().wall_ms,
            "at": at,
            "first": min(firsts, default=None),
            "last": max((row["knows_up_to"] or 0 for row in rows), default=0) or None,
            "namesrvs": rows,
            "causes": {**CAUSES, **_EVENTS},
            "closed_by": CLOSED_BY,
            "shapes": SHAPES,
        }

    def brokers(self, query: Query) -> dict[str, Any]:
        """A window of the brokers at an instant."""
        at = self._instant(query, "at")
        heard = {each.versions.namesrv: each.heard for each in self._histories.followed} if at is None else {}
        return broker_rows(self._held(at), _table_query(query), heard)

    def topics(self, query: Query) -> dict[str, Any]:
        """A window of the topics at an instant."""
        return topic_rows(self._held(self._instant(query, "at")), _table_query(query))

    def troubles(self, query: Query) -> dict[str, Any]:
        """What somebody should look at first at an instant, as counts."""
        return troubles(self._held(self._instant(query, "at")))

    def changes(self, query: Query) -> dict[str, Any]:
        """A window of the changes, newest first."""
        wanted = ChangeQuery(
            **{name: query.get(name, "") for name in _CHANGE_FILTERS},
            begin_at=self._instant(query, "from"),
            end_at=self._instant(query, "to"),
            limit=_number(query, "limit", 100, ROWS_LIMIT),
        )
        dropped = [each.dropped_until for each in self._versions if each.dropped_until is not None]
        return {**change_rows(self._versions, wanted), "dropped_until": max(dropped, default=None)}

    def beside(self, query: Query) -> dict[str, Any]:
        """Times of the last change before an instant and of the first one after it; None if there is none."""
        at = self._instant(query, "at") or self._now()
        return beside(self._versions, at)

    def topic(self, query: Query) -> dict[str, Any]:
        """A topic: its route at an instant at each name server, and over time."""
        name, at = _name(query), self._instant(query, "at")
        versions = self._versions
        is_there = any(True for each in versions for _ in each.keys_of_topic(name))
        names = {topic for each in versions for topic in each.topics()}
        routes = [each.route(name, end_of(each) if at is None else at) for each in versions]
        return {
            "name": name,
            "is_there": is_there,
            "near": "" if is_there else did_you_mean(name, names),
            "routes": [
                {**value, "knowledge_text": explain_knowledge(route.knowledge), "perms": _perms(route)}
                for route, value in zip(routes, route_values(routes), strict=True)
            ],
            "lanes": topic_lanes(versions, name),
        }

    def broker(self, query: Query) -> dict[str, Any]:
        """A broker, by name or address: its sessions at each name server."""
        name, versions = _name(query), self._versions
        sessions = broker_sessions(versions, name)
        names = {key[1] for each in versions for key in each.keys("group")}
        return {
            "name": name,
            "is_there": bool(sessions),
            "near": "" if sessions else did_you_mean(name, names),
            "sessions": sessions[:ROWS_LIMIT],
            "session_count": len(sessions),
            "absences": broker_absences(sessions),
            "lanes": broker_lanes(versions, name),
        }

    def compare(self, query: Query) -> dict[str, Any]:
        """Two name servers, or instants, compared."""
        sides = [self._side(query, side) for side in ("a", "b")]
        a, b = sides
        return {
            "a": {"namesrv": a.namesrv, "at": a.at}, "b": {"namesrv": b.namesrv, "at": b.at},
            **difference(a, b),
        }  # fmt: skip

    def search(self, query: Query) -> dict[str, Any]:
        """Names that contain a text."""
        return found_names(self._versions, query.get("q", ""))

    def why(self, query: Query) -> dict[str, Any]:
        """Why a topic had no route at an instant; reads the journals, as the command does."""
        name, at = _name(query), self._instant(query, "at")
        with self._source() as source:
            explanations = explain(source.evidence(name, at), at)
        found = explanation_values(explanations)
        with self._histories.lock.to_look():
            names = {topic for each in self._versions for topic in each.topics()}
            brokers = broker_words(self._versions)
        return {
            "name": name,
            "near": "" if name in names else did_you_mean(name, names),
            "explanations": found,
            "links": evidence_links(found, brokers),
            "notes": source.notes,
        }

    def audit(self, query: Query) -> dict[str, Any]:
        """Requests that access rules judged or that were refused, newest first; reads the journals.

        By default those of the day before the end.
        """
        end = self._instant(query, "to")
        begin = self._instant(query, "from")
        if begin is None:
            begin = (self._now() if end is None else end) - DAY_MS
        limit = _number(query, "limit", 100, ROWS_LIMIT)
        with self._source() as source:
            wanted = AuditQuery(query.get("text", ""), newest=limit + 1)
            rows = audit_values(source.audit(begin, LATEST_MS if end is None else end, wanted))[::-1]
        return {
            "rows": rows[:limit],
            "has_more": len(rows) > limit,
            "from": begin,
            "notes": source.notes,
        }

    def who_knows(self, query: Query) -> dict[str, Any]:
        """Who has asked for a topic since its last change, at each name server that can be asked."""
        rows = [
            {"namesrv": addr, "problem": str(answer), "answer": None}
            if isinstance(answer, RemotingError)
            else {"namesrv": addr, "problem": "", "answer": answer}
            for addr, answer in self._who_knows(_name(query)).items()
        ]
        return {"rows": rows}

    @contextlib.contextmanager
    def _source(self) -> Iterator[HistorySource]:
        """The journals, for one of the few that may read them at once."""
        if self._open_source is None:
            raise ConfigError(
                "the answer is in the journals: start the console with --journal DIR, or --http HOST:PORT"
            )
        if not self._reading_places.acquire(blocking=False):
            raise ConfigError("others read the journals now: ask again in a few seconds")
        try:
            yield self._open_source()
        finally:
            self._reading_places.release()

    @property
    def _versions(self) -> list[RowVersions]:
        return [each.versions for each in self._histories.followed]

    def _held(self, at: int | None) -> Sequence[RowsHeld]:
        key = (self._histories.revision, at)
        found = self._kept.get(key)
        if found is None:
            found = [held_by(each, at) for each in self._versions]
            self._keep(key, found)
        return found

    def _keep(self, key: tuple[int, int | None], found: list[RowsHeld]) -> None:
        """Cache the rows of an instant; drop those beyond the limits, and those of older revisions."""
        kept = {key: found}
        rows = 0
        for other, held in reversed(self._kept.items()):
            rows += sum(len(each.topics) + len(each.live) for each in held)
            if other[0] == key[0] and len(kept) < _KEPT and rows <= _ROWS_KEPT:
                kept[other] = held
        self._kept = dict(reversed(kept.items()))

    def _side(self, query: Query, side: str) -> RowsHeld:
        namesrv = query.get(side, "")
        at = self._instant(query, f"{side}_at")
        found = next((held for held in self._held(at) if held.namesrv == namesrv), None)
        if found is None:
            there = ", ".join(each.namesrv for each in self._versions)
            raise ConfigError(f"there is no name server {namesrv!r}; there is {there}")
        return found

    def _instant(self, query: Query, name: str) -> int | None:
        text = query.get(name, "")
        if not text or text == "now":
            return None
        if text.isdecimal():
            return _number(query, name, 0, LATEST_MS)
        return instant_of(text, now_ms=self._now(), zone=None)

    def _now(self) -> int:
        return self._clock.now().wall_ms


_EVENTS = {
    "change": "seen in an answer",
    WAS_THERE: "before what is known",
    "lost": "records lost",
    "corrected": "found by a checkpoint after a loss",
}
"""Kind of event without a cause -> text."""
_DIGITS = 20
"""Longest number: Python refuses to read some thousand digits."""
_CHANGE_FILTERS = ("topic", "broker", "cause", "peer", "namesrv", "text")


def _table_query(query: Query) -> TableQuery:
    return TableQuery(
        text=query.get("text", ""),
        only=query.get("only", ""),
        offset=_number(query, "offset", 0, 10_000_000),
        limit=_number(query, "limit", 100, ROWS_LIMIT),
    )


def _perms(at: RouteAt) -> dict[str, str]:
    """Broker name -> the text of its permission."""
    return (
        {}
        if at.route is None
        else {each.broker_name: format_perm(each.perm) for each in at.route.queue_datas}
    )


def _name(query: Query) -> str:
    name = query.get("name", "")
    if not name:
        raise ConfigError("say which: name=...")
    return name


def _number(query: Query, name: str, usual: int, limit: int) -> int:
    text = query.get(name, "")
    if not text:
        return usual
    if not text.isdecimal() or len(text) > _DIGITS or int(text) > limit:
        raise ConfigError(f"{name} must be a number from 0 to {limit}")
    return int(text)
