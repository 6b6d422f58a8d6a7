"""Answers the questions of the tools, from journals, a warehouse or running name servers."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from msgspec import Raw, Struct

from namekeeper.admin.what_if import what_if
from namekeeper.answers.evidence import DAY_MS, Evidence
from namekeeper.answers.explain import explain, is_unknown_topic
from namekeeper.answers.incidents.reading import IncidentJournals
from namekeeper.answers.incidents.report import IncidentReport, find_incidents, namesrv_value
from namekeeper.answers.incidents.texts import incident_value
from namekeeper.answers.render import RouteAt, explanation_values, route_values
from namekeeper.answers.search import found_names
from namekeeper.answers.source import HeldAt, JournalAnswers, PastAnswers, found_in
from namekeeper.answers.timeline import entry_value, timeline
from namekeeper.answers.times import Zone, instant_of, iso_text
from namekeeper.answers.what_if import gone_of, snapshot_of
from namekeeper.clock import Clock
from namekeeper.common.near_names import did_you_mean, near_names
from namekeeper.drift.compared import histories_of
from namekeeper.drift.incidents import drift_amend
from namekeeper.drift.report import find_drift, report_values
from namekeeper.errors import ConfigError, NamekeeperError, RemotingError
from namekeeper.expected.incidents import ExpectedFile
from namekeeper.history.history import History
from namekeeper.history.rows import HistoryEvent, is_about_a_name
from namekeeper.history.timeline import PeriodState
from namekeeper.http.watchers import WhoKnows
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.reader import FoundJournal
from namekeeper.mcp.values import (
    DriftAnswer,
    DriftQuestion,
    Gap,
    HistoryAnswer,
    HistoryQuestion,
    IncidentsAnswer,
    IncidentsQuestion,
    NamesrvCoverage,
    RouteAtAnswer,
    RouteAtQuestion,
    SearchAnswer,
    SearchQuestion,
    StatusAnswer,
    StatusQuestion,
    ToolAnswer,
    WhatIfAnswer,
    WhatIfQuestion,
    WhoKnowsAnswer,
    WhoKnowsOne,
    WhoKnowsQuestion,
    WhyAnswer,
    WhyQuestion,
)

__all__ = [
    "Sources",
    "ToolResult",
    "answer_drift",
    "answer_history",
    "answer_incidents",
    "answer_route_at",
    "answer_search",
    "answer_status",
    "answer_what_if",
    "answer_who_knows",
    "answer_why",
    "one_line",
]

_END_MS = 2**62


class Sources(Struct, frozen=True):
    """Where the answers are."""

    journals: Callable[[], Sequence[str | FoundJournal]]
    """Finds the journals, as they are now. Raises NamekeeperError."""
    who_knows: Callable[[str], Mapping[str, WhoKnows | RemotingError]]
    """Asks name servers which clients asked for a topic; keys are addresses. Raises NamekeeperError."""
    clock: Clock
    zone: Zone
    """The zone of times without one in questions."""
    expected: ExpectedFile | None = None
    """The expected state, deviations from which are incidents; None: there is none."""
    warehouse: Callable[[], PastAnswers] | None = None
    """Opens a warehouse as it is now, in place of journals. Raises NamekeeperError. None: there is none."""
    asking: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered around each question; turns errors of the sources into a NamekeeperError."""

    def answers(self) -> PastAnswers:
        """Opens the warehouse or the journals.

        Raises:
            NamekeeperError: they can't be read.
        """
        return JournalAnswers(self.journals()) if self.warehouse is None else self.warehouse()

    def instant(self, text: str) -> int:
        """A time of a question, wall ms.

        Raises:
            ConfigError: it is none.
        """
        return instant_of(text, now_ms=self.clock.now().wall_ms, zone=self.zone)

    def instant_or_none(self, text: str | None) -> int | None:
        """A time of a question that may be missing, wall ms.

        Raises:
            ConfigError: it is none.
        """
        return None if text is None else self.instant(text)


class ToolResult(Struct, frozen=True):
    """An answer, and how many items there are of the lists that are cut in it."""

    answer: ToolAnswer
    totals: Mapping[str, int] = {}
    """Member of the answer -> number of all its items."""


# The known time


def _iso(ms: int | None) -> str | None:
    return None if ms is None else iso_text(ms)


def _known(namesrv: str, since: int | None, until: int | None, gaps: Iterable[Gap]) -> NamesrvCoverage:
    return NamesrvCoverage(namesrv, since, _iso(since), until, _iso(until), list(gaps))


def _gap(state: str, begin: int, end: int | None) -> Gap:
    return Gap(state, begin, iso_text(begin), end, _iso(end))


def _of_history(history: History) -> NamesrvCoverage:
    periods = (each for each in history.periods() if each.state is not PeriodState.UP)
    gaps = (_gap(each.state, each.since, each.until) for each in periods)
    return _known(history.namesrv, history.knows_from, history.knows_up_to, gaps)


def _of_evidence(one: Evidence) -> NamesrvCoverage:
    periods = (each for each in one.periods if each.state != PeriodState.UP)
    gaps = (_gap(each.state, each.valid_from, each.valid_to) for each in periods)
    return _known(one.namesrv, one.known_from, one.knows_up_to, gaps)


def _of_held(held: HeldAt) -> NamesrvCoverage:
    is_gap = held.knowledge in {Knowledge.UNKNOWN, Knowledge.STOPPED}
    gaps = [_gap(held.knowledge, held.at, None)] if is_gap else []
    return _known(held.namesrv, None, held.knows_up_to, gaps)


def _of_route(route: RouteAt) -> NamesrvCoverage:
    is_gap = route.knowledge in {Knowledge.UNKNOWN, Knowledge.STOPPED}
    return _known(
        route.namesrv, None, route.knows_up_to, [_gap(route.knowledge, route.at, None)] if is_gap else []
    )


# The answers


def _report(sources: Sources, since: int) -> tuple[IncidentReport, ToolAnswer]:
    if sources.warehouse is not None:
        raise ConfigError(
            "incidents are found in journals, and this is a warehouse: ask `drift`, `history` or `why` about"
            " a time in it"
        )
    expected = sources.expected
    found = (journal for folder in sources.journals() for journal in found_in(folder))
    reading = IncidentJournals(found, clock=sources.clock, is_whole=expected is not None)
    every = reading.read(since)
    planned = [] if expected is None else [expected.applied]
    report = find_incidents(every, since, drift_amend(every, since), *planned)
    known = [_of_history(each.history) for each in report.name_servers]
    notes = [*reading.notes, *(() if expected is None else expected.notes)]
    return report, ToolAnswer(known=known, notes=notes)


def answer_status(sources: Sources, _question: StatusQuestion) -> ToolResult:
    """The state of each name server, and how many incidents are open."""
    report, about = _report(sources, sources.clock.now().wall_ms - DAY_MS)
    return ToolResult(
        StatusAnswer(
            known=about.known,
            notes=about.notes,
            namesrvs=[namesrv_value(each) for each in report.name_servers],
            open_incidents=dict(Counter(each.kind for each in report.open)),
        )
    )


def answer_incidents(sources: Sources, question: IncidentsQuestion) -> ToolResult:
    """The incidents that are open, and those of lately."""
    report, about = _report(sources, sources.instant(question.since))
    answer = IncidentsAnswer(
        known=about.known,
        notes=about.notes,
        namesrvs=[namesrv_value(each) for each in report.name_servers],
        open=[incident_value(each) for each in report.open[: question.limit]],
        open_total=len(report.open),
        recent=[incident_value(each) for each in report.recent[: question.limit]],
        recent_total=len(report.recent),
    )
    return ToolResult(answer, {"open": len(report.open), "recent": len(report.recent)})


def answer_why(sources: Sources, question: WhyQuestion) -> ToolResult:
    """Why a topic had no route."""
    source = sources.answers()
    at = source.instant(sources.instant_or_none(question.at))
    evidence = source.evidence(question.topic, at)
    notes = [*source.notes]
    explanations = explain(evidence, at)
    is_unknown = is_unknown_topic(evidence, explanations)
    return ToolResult(
        WhyAnswer(
            known=[_of_evidence(one) for one in evidence],
            notes=notes,
            topic=question.topic,
            is_recorded=not is_unknown,
            similar=near_names(question.topic, source.topics()) if is_unknown else [],
            explanations=explanation_values(explanations),
        )
    )


def answer_history(sources: Sources, question: HistoryQuestion) -> ToolResult:
    """The changes of a name."""
    begin = sources.instant(question.begin)
    end = _END_MS if question.end is None else sources.instant(question.end)
    if begin > end:
        raise ConfigError(f"from {question.begin} is after to {question.end}")
    source = sources.answers()
    if isinstance(source, JournalAnswers):
        histories = source.about(question.name, begin)
        known = [_of_history(each) for each in histories]
        changes: Iterable[HistoryEvent] = (event for each in histories for event in each.changes(begin, end))
    else:
        known = [_of_route(each) for each in source.routes(question.name or "", None)]
        changes = source.changes(question.name, begin, end)
    notes = [*source.notes]
    entries = timeline(changes)
    newest = entries[-question.limit :][::-1]
    is_recorded = question.name is None or any(is_about_a_name(each.event) for each in entries)
    if not is_recorded:
        is_recorded = any(map(is_about_a_name, source.changes(question.name, 0, _END_MS)))
    similar = [] if is_recorded else near_names(question.name or "", [*source.topics(), *source.brokers()])
    answer = HistoryAnswer(
        known=known,
        notes=notes,
        name=question.name,
        is_recorded=is_recorded,
        similar=similar,
        entries=[entry_value(each) for each in newest],
        total=len(entries),
    )
    return ToolResult(answer, {"entries": len(entries)})


def answer_route_at(sources: Sources, question: RouteAtQuestion) -> ToolResult:
    """The route of a topic at a time."""
    source = sources.answers()
    routes = source.routes(question.topic, source.instant(sources.instant_or_none(question.at)))
    return ToolResult(
        RouteAtAnswer[Raw](
            known=[_of_route(each) for each in routes],
            notes=[*source.notes],
            topic=question.topic,
            routes=route_values(routes),
        )
    )


def answer_drift(sources: Sources, question: DriftQuestion) -> ToolResult:
    """The disagreements of name servers."""
    source = sources.answers()
    at = source.instant(sources.instant_or_none(question.at))
    histories = histories_of(source, at, DAY_MS)
    report = find_drift(histories, at)
    answer = DriftAnswer(
        known=[_of_history(each) for each in histories],
        notes=source.notes,
        is_compared=report.is_compared,
        drift=report_values(report, question.limit),
    )
    return ToolResult(answer, {"drift.verdicts": len(report.verdicts)})


def answer_what_if(sources: Sources, question: WhatIfQuestion) -> ToolResult:
    """The routes that would be left without some brokers."""
    if not question.without and not question.without_zones:
        raise ConfigError("nothing is taken away: name brokers in `without`, or zones in `without_zones`")
    source = sources.answers()
    at = source.instant(sources.instant_or_none(question.at))
    held = [source.held(namesrv, at) for namesrv in source.namesrvs()]
    snapshots = [snapshot_of(each.namesrv, each.state) for each in held if each.state is not None]
    gone, unknown = gone_of(snapshots, question.without, question.without_zones)
    if snapshots and unknown:
        there = {name for each in snapshots for name in each.brokers}
        first = min(unknown)
        raise ConfigError(f"no name server has the broker or zone {first!r} then{did_you_mean(first, there)}")
    return ToolResult(
        WhatIfAnswer(
            known=[_of_held(each) for each in held],
            notes=[*source.notes],
            results=[
                what_if(snapshot, each, load_limit=question.load)
                for snapshot, each in zip(snapshots, gone, strict=True)
            ],
        )
    )


def answer_search(sources: Sources, question: SearchQuestion) -> ToolResult:
    """The names that contain a text."""
    back_ms = max(sources.clock.now().wall_ms - sources.instant(question.since), 0)
    source = sources.answers()
    histories = source.histories(None, back_ms)
    return ToolResult(
        SearchAnswer(
            known=[_of_history(each) for each in histories],
            notes=[*source.notes],
            found=found_names(histories, question.text),
        )
    )


def answer_who_knows(sources: Sources, question: WhoKnowsQuestion) -> ToolResult:
    """The clients that may hold an old route."""
    now = sources.clock.now().wall_ms
    found = sources.who_knows(question.topic)
    return ToolResult(
        WhoKnowsAnswer(
            known=[
                _known(addr, None, now if isinstance(each, WhoKnows) else None, ())
                for addr, each in found.items()
            ],
            topic=question.topic,
            asked_at=now,
            asked_at_iso=iso_text(now),
            answers=[
                WhoKnowsOne(addr, None, each)
                if isinstance(each, WhoKnows)
                else WhoKnowsOne(addr, one_line(each), None)
                for addr, each in found.items()
            ],
        )
    )


def one_line(error: NamekeeperError) -> str:
    """An error as one line."""
    return " ".join(str(error).split())
