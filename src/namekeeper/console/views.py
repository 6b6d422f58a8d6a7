"""Makes the values of each view of the page: from the query of a URL to a value for JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Raw, Struct, structs, to_builtins

from namekeeper.answers.phrases import CLOSED_BY
from namekeeper.answers.render import RouteAt, RouteValue, explain_knowledge, route_values
from namekeeper.answers.route import route_at
from namekeeper.answers.search import found_names
from namekeeper.answers.source import PastAnswers
from namekeeper.clock import Clock
from namekeeper.common.near_names import did_you_mean
from namekeeper.console.broker_sessions import WAS_THERE, broker_absences, broker_sessions
from namekeeper.console.changes import ChangeQuery, beside, change_rows, has_enough
from namekeeper.console.computed import Computed, LastOf
from namekeeper.console.difference import difference
from namekeeper.console.earlier import EarlierPart, Use
from namekeeper.console.histories import EarlierQuery, Histories
from namekeeper.console.instants import HeldCache, RowsHeld, end_of, held_by_each
from namekeeper.console.journal_views import JournalViews
from namekeeper.console.present_incidents import PresentIncidents, computed_drift
from namekeeper.console.query import Query, change_query, instant_in, name_in, number_in, table_query
from namekeeper.console.subjects import broker_lanes, topic_lanes
from namekeeper.console.tables import ROWS_LIMIT, broker_rows, namesrv_rows, topic_rows, troubles
from namekeeper.drift.report import DriftReport, find_drift, report_values
from namekeeper.drift.shadow import ShadowReport, present_shadows
from namekeeper.drift.shadow_value import shadow_summary
from namekeeper.errors import ConfigError, RemotingError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.history.forgotten import SearchKind
from namekeeper.history.history import (
    NOT_OBSERVED,
    OBSERVED,
    RESTART_POSSIBLE,
    RESTART_SEEN,
    History,
)
from namekeeper.history.rows import GroupKey
from namekeeper.http.watchers import WhoKnows
from namekeeper.model.perm import format_perm
from namekeeper.model.route import TopicRouteData
from namekeeper.notifications.incident_facts import SeenIncident
from namekeeper.pipeline.report.columns import CAUSES
from namekeeper.pipeline.report.html import SHAPES

__all__ = ["ConsoleViews"]


class ConsoleViews:
    """Answers the requests of the page.

    Args:
        histories: the shown histories; callers hold their lock, except for `journals` and `who_knows`.
        open_source: opens the journals for `journals`; None if there are none.
        clock: tells the present.
        who_knows: asks name servers which clients asked for a topic; keys are addresses of operators' pages.
        expected: what must be there, and what is planned; None: nothing is.
    """

    def __init__(
        self,
        histories: Histories,
        open_source: Callable[[], PastAnswers] | None,
        clock: Clock,
        who_knows: Callable[[str], Mapping[str, WhoKnows | RemotingError]] = lambda _topic: {},
        expected: ExpectedFile | None = None,
    ) -> None:
        self._histories = histories
        self._clock = clock
        self.journals = JournalViews(histories, open_source, clock)
        self._who_knows = who_knows
        self.drift_of_now = computed_drift(histories, clock)
        """The drift of the present, for all parts of the process."""
        self._shadows = Computed(
            lambda: present_shadows([each.history for each in histories.followed]), clock
        )
        self._incidents = PresentIncidents(histories, clock, self.drift_of_now.value, expected)
        self._held_cache = HeldCache()
        self._past_drift = LastOf[tuple[int, int], DriftReport]()
        """By the revision and the instant."""

    def plan_changed(self) -> None:
        """Have the next look at incidents compute them with the present plan."""
        self._incidents.expire()

    def overview(self, query: Query) -> dict[str, Any]:
        """The name servers at an instant, and the start and end of the known time."""
        at = self._instant(query, "at")
        rows = namesrv_rows(self._histories.followed, self._held(at))
        is_observed = any(boot.is_observed for each in self._histories.shown for boot in each.coverage.boots)
        firsts = [each.first for each in self._histories.followed if each.first is not None]
        return {
            "revision": self._histories.revision,
            "now": self._clock.now().wall_ms,
            "at": at,
            "first": min(firsts, default=None),
            "last": max((row["knows_up_to"] or 0 for row in rows), default=0) or None,
            "namesrvs": rows,
            "causes": {**CAUSES, **_EVENTS, **(_OF_OBSERVATION if is_observed else {})},
            "closed_by": CLOSED_BY,
            "shapes": SHAPES,
        }

    def brokers(self, query: Query) -> dict[str, Any]:
        """A window of the brokers at an instant."""
        at = self._instant(query, "at")
        heard = {each.history.namesrv: each.heard for each in self._histories.followed} if at is None else {}
        return broker_rows(self._held(at), table_query(query), heard)

    def topics(self, query: Query) -> dict[str, Any]:
        """A window of the topics at an instant."""
        return topic_rows(self._held(self._instant(query, "at")), table_query(query))

    def troubles(self, query: Query) -> dict[str, Any]:
        """Counts of the problems to look at first, at an instant."""
        at = self._instant(query, "at")
        return troubles(self._held(at), self._drift_at(at).differing)

    def incidents(self, _query: Query) -> dict[str, Any]:
        """The incidents that are open, and those that were over lately."""
        return self._incidents.value()

    def incident(self, query: Query) -> dict[str, Any]:
        """One incident, as a message names it by its id and its start."""
        began = self._instant(query, "began")
        if began is None:
            raise ConfigError("say when it began: began=TIME")
        return self._incidents.one(query.get("id", ""), began)

    def open_incidents(self) -> list[SeenIncident]:
        """The incidents that are open now."""
        return self._incidents.open_ones()

    def drift(self, query: Query) -> dict[str, Any]:
        """The first verdicts on what name servers disagree about at an instant, the worst kind first."""
        at = self._instant(query, "at")
        shadows = self.present_shadows() if at is None else []
        return {
            **structs.asdict(report_values(self._drift_at(at), number_in(query, "limit", 100, ROWS_LIMIT))),
            "shadows": [
                {"id": each.shadow, "state": each.state, "summary": shadow_summary(each)} for each in shadows
            ],
        }

    def _drift_at(self, at: int | None) -> DriftReport:
        """The drift at an instant; None is now. The last one is cached: the page counts and lists it."""
        if at is None:
            return self.present_drift()
        if self._histories.needs(EarlierQuery([at])):
            return find_drift(self._at(at), at)
        return self._past_drift.value((self._histories.revision, at), lambda: find_drift(self._at(at), at))

    def present_drift(self) -> DriftReport:
        """The present drift, which is found again after a while."""
        return self.drift_of_now.value().report

    def present_shadows(self) -> Sequence[ShadowReport]:
        """Whether each shadow has the tables of the others now, which is found again after a while."""
        return self._shadows.value()

    def changes(self, query: Query) -> dict[str, Any]:
        """A window of the changes, newest first."""
        wanted = change_query(query, self._now())
        found = [
            each.changes_until(wanted.end_at)
            for each in self._histories.all
            if wanted.namesrv in {"", each.namesrv}
        ]
        dropped = [each.dropped_until for each in self._histories.shown if each.dropped_until is not None]
        since = max((each.since for each in found if each.since is not None), default=None)
        shown = structs.replace(wanted, begin_at=_latest(since, wanted.begin_at))
        return {
            **change_rows([each.history for each in found if each.is_read], shown),
            "dropped_until": max(dropped, default=None),
            "known_from": since,
            "older_to": _older_to(since, wanted),
            "not_read": [each.history.namesrv for each in found if not each.is_read],
        }

    def beside(self, query: Query) -> dict[str, Any]:
        """Times of the last change before an instant and of the first one after it; None if there is none."""
        at = self._instant(query, "at") or self._now()
        return beside(self._histories.shown, at)

    def topic(self, query: Query) -> dict[str, Any]:
        """A topic: its route at an instant at each name server, and over time."""
        name, at = name_in(query), self._instant(query, "at")
        histories, older = self._subject_histories(Use.TOPIC, name, query)
        is_there = any(True for each in histories for _ in each.keys_of_topic(name))
        names = {topic for each in self._histories.shown for topic in each.topics()}
        routes = [route_at(each, name, end_of(each) if at is None else at) for each in self._at(at, name)]
        return {
            "name": name,
            "is_there": is_there,
            "near": "" if is_there else self._near(name, names, SearchKind.TOPIC),
            "routes": [
                {
                    **_members(value),
                    "knowledge_text": explain_knowledge(route.knowledge),
                    "perms": _perms(route.route),
                    **_uncertain(route, value),
                }
                for route, value in zip(routes, route_values(routes), strict=True)
            ],
            "lanes": topic_lanes(histories, name),
            **older,
        }

    def broker(self, query: Query) -> dict[str, Any]:
        """A broker, by name or address: its sessions at each name server."""
        name = name_in(query)
        histories, older = self._subject_histories(Use.BROKER, name, query)
        sessions = broker_sessions(histories, name)
        names = {key.broker_name for each in self._histories.shown for key in each.keys(GroupKey)}
        return {
            "name": name,
            "is_there": bool(sessions),
            "near": "" if sessions else self._near(name, names, SearchKind.BROKER, SearchKind.ADDRESS),
            "sessions": sessions[:ROWS_LIMIT],
            "session_count": len(sessions),
            "absences": broker_absences(sessions),
            "lanes": broker_lanes(histories, name),
            **older,
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
        found: dict[str, Any] = to_builtins(found_names(self._histories.shown, query.get("q", "")))
        return found

    def who_knows(self, query: Query) -> dict[str, Any]:
        """The clients that asked for a topic since its last change, at each name server that can be asked."""
        rows = [
            {"namesrv": addr, "problem": str(answer), "answer": None}
            if isinstance(answer, RemotingError)
            else {"namesrv": addr, "problem": "", "answer": answer}
            for addr, answer in self._who_knows(name_in(query)).items()
        ]
        return {"rows": rows}

    def _near(self, name: str, names: set[str], *kinds: SearchKind) -> str:
        """The end of a message about an unknown name: it was there before, or similar names."""
        dropped = set().union(*map(self._histories.dropped_names, kinds))
        return "; it was there before." if name in dropped else did_you_mean(name, names | dropped)

    def resolved(self, view: str, query: Query) -> Query:
        """The same query with the times of a view in wall ms: "5 minutes ago" stays one instant.

        Raises:
            ConfigError: a time is none.
        """
        found = {name: self._instant(query, name) for name in _TIMES.get(view, ())}
        return {**query, **{name: str(at) for name, at in found.items() if at is not None}}

    def is_due(self, view: str, query: Query) -> bool:
        """Whether a view computes incidents or drift, which may take seconds; `metrics` is one of them."""
        if view not in {"drift", "troubles", "metrics"}:
            return view in {"incidents", "incident"} and self._incidents.is_due
        at = self._instant(query, "at")
        is_drift_due = (
            self.drift_of_now.is_due or self._shadows.is_due
            if at is None
            else not self._past_drift.has((self._histories.revision, at))
        )
        return is_drift_due or (view == "metrics" and self._incidents.is_due)

    def earlier(self, view: str, query: Query) -> EarlierQuery:
        """The changes and rows that a view needs of the time before the shown histories.

        Raises:
            ConfigError: a parameter is wrong.
        """
        name = query.get("name") or None
        if view == "changes":
            wanted = change_query(query, self._now())

            def is_enough(part: EarlierPart) -> bool:
                return has_enough(part.history, wanted, part.since)

            return EarlierQuery(changes_until=wanted.end_at, is_enough=is_enough, namesrv=wanted.namesrv)
        instants = [self._instant(query, each) for each in _TIMES.get(view, ())]
        return EarlierQuery(
            [at for at in instants if at is not None],
            about=name if view == "topic" else None,
            subject=(_SUBJECTS[view], name) if name and view in _SUBJECTS and query.get("older") else None,
        )

    def _subject_histories(self, use: Use, name: str, query: Query) -> tuple[list[History], dict[str, Any]]:
        """The histories to be asked about a topic or a broker, and from when on they have its changes."""
        is_older = bool(query.get("older"))
        found = [each.subject_history(use, name) for each in self._histories.all] if is_older else []
        histories = [each.history for each in found] or self._histories.shown
        dropped = [each.dropped_until for each in histories if each.dropped_until is not None]
        can_read = any(each.keeps_past and each.history.dropped_until for each in self._histories.followed)
        return histories, {
            "known_from": max(dropped, default=None),
            "has_older": can_read and not is_older,
            "not_read": [each.history.namesrv for each in found if each.has_older],
        }

    def _at(self, at: int | None, about: str | None = None) -> list[History]:
        """The histories to be asked about an instant."""
        return (
            self._histories.shown
            if at is None
            else [each.history_at(at, about) for each in self._histories.all]
        )

    def _held(self, at: int | None) -> Sequence[RowsHeld]:
        """The rows of an instant; those of dropped changes were read for this request and are not cached."""
        if at is not None and self._histories.needs(EarlierQuery([at])):
            return held_by_each(self._at(at), at)
        return self._held_cache.held(self._histories.revision, self._histories.shown, at)

    def _side(self, query: Query, side: str) -> RowsHeld:
        namesrv = query.get(side, "")
        at = self._instant(query, f"{side}_at")
        found = next((held for held in self._held(at) if held.namesrv == namesrv), None)
        if found is None:
            there = ", ".join(each.namesrv for each in self._histories.shown)
            raise ConfigError(f"there is no name server {namesrv!r}; there is {there}")
        return found

    def _instant(self, query: Query, name: str) -> int | None:
        return instant_in(query, name, self._now())

    def _now(self) -> int:
        return self._clock.now().wall_ms


_TIMES = {
    **dict.fromkeys(("overview", "troubles", "drift", "brokers", "topics", "topic"), ("at",)),
    "compare": ("a_at", "b_at"),
    "changes": ("from", "to"),
    "incident": ("began",),
}
"""View -> its parameters with instants."""
_SUBJECTS = {"topic": Use.TOPIC, "broker": Use.BROKER}
"""Views of one topic or broker over time."""
_EVENTS = {
    "change": "seen in an answer",
    WAS_THERE: "before what is known",
    "lost": "records lost",
    "corrected": "found by a checkpoint after a loss",
}
"""Kind of event without a cause -> text."""
_OF_OBSERVATION = {
    NOT_OBSERVED: "not observed from here on",
    OBSERVED: "observed from here on",
    RESTART_SEEN: "observed again: it has restarted",
    RESTART_POSSIBLE: "observed again: it may have restarted",
}
"""Cause of an event of an observed name server itself -> text."""


def _latest(*times: int | None) -> int | None:
    return max((each for each in times if each is not None), default=None)


def _older_to(since: int | None, query: ChangeQuery) -> int | None:
    """The end of the list of older changes, wall ms; None if there is none, or if it is the same list."""
    if since is None or (query.begin_at is not None and since <= query.begin_at):
        return None
    return since - 1 if query.end_at is None or since <= query.end_at else None


def _perms(route: TopicRouteData | None) -> dict[str, str]:
    """Broker name -> the text of its permission."""
    return {} if route is None else {each.broker_name: format_perm(each.perm) for each in route.queue_datas}


def _uncertain(route: RouteAt, value: RouteValue[Raw]) -> dict[str, Any]:
    """The changes of a route in question, each with the permissions after it, if there are any."""
    changes = zip(route.uncertain, value.uncertain or (), strict=True)
    found = [{**_members(shown), "perms": _perms(change.route)} for change, shown in changes]
    return {"uncertain": found} if found else {}


def _members(value: Struct) -> dict[str, Any]:
    """The members of a value that JSON shows."""
    return {name: each for name, each in structs.asdict(value).items() if each is not UNSET}
