"""Answers about the past of one or more name servers, by name server."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Protocol

from msgspec import Struct

from namekeeper.answers.audit import EVERY_REQUEST, AuditEntry, AuditQuery, read_audit
from namekeeper.answers.collecting import EVIDENCE_BYTES
from namekeeper.answers.evidence import DAY_MS, Evidence
from namekeeper.answers.from_journal import JournalFolder
from namekeeper.answers.render import RouteAt
from namekeeper.answers.route import route_of
from namekeeper.errors import ConfigError
from namekeeper.history.history import History
from namekeeper.history.rows import HistoryEvent
from namekeeper.history.sources.journal import one_of_each
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.reader import FoundJournal, find_journals
from namekeeper.journal.reading.state import State

__all__ = [
    "HeldAt",
    "JournalAnswers",
    "PastAnswers",
    "SourceProgress",
    "found_in",
    "no_such_cluster",
]

SourceProgress = Callable[[str, int, int], None]
"""Called with the name of what is read, the parts read so far, and all parts."""


PRESENT_MS = 10_000
"""The present of a name server whose last answer is older is not known."""


class HeldAt(Struct, frozen=True):
    """Everything that one name server held at a time."""

    namesrv: str
    at: int
    """Wall ms."""
    knowledge: Knowledge
    knows_up_to: int | None
    state: State | None
    """None if it is not known."""


class PastAnswers(Protocol):
    """Answers about the past of name servers."""

    @property
    def notes(self) -> Sequence[str]:
        """Notes about the last answer, such as lines that could not be read."""
        ...

    def namesrvs(self) -> list[str]:
        """Ids of the name servers, sorted."""
        ...

    def instant(self, at: int | None) -> int | None:
        """The instant that an answer about a time (wall ms) is about; None is the end of each name server."""
        ...

    def held(self, namesrv: str, at: int | None) -> HeldAt:
        """Everything that one of the name servers held at a time (wall ms); None is now, or its end."""
        ...

    def routes(self, topic: str, at: int | None) -> list[RouteAt]:
        """The route of a topic at each name server, at a time (wall ms); None is now, or the end of each."""
        ...

    def evidence(self, topic: str, at: int | None) -> list[Evidence]:
        """The evidence about a topic at each name server, for a time (wall ms); None: now, or its end."""
        ...

    def changes(self, name: str | None, begin_at: int, end_at: int) -> Sequence[HistoryEvent]:
        """Changes of the rows about a topic, a broker or an address after `begin_at`, up to `end_at`.

        A name of None is everything.
        """
        ...

    def histories(
        self, at: int | None, back_ms: int, namesrvs: Collection[str] | None = None
    ) -> list[History]:
        """The history of every row at each name server.

        Args:
            at: the time in question, wall ms; None is now, or the end of each.
            back_ms: how long before that time they begin, at the latest.
            namesrvs: ids of those that are wanted; None: all.
        """
        ...

    def audit(self, begin_at: int, end_at: int, query: AuditQuery = EVERY_REQUEST) -> list[AuditEntry]:
        """Requests that access rules checked, or that were refused, after `begin_at`, up to `end_at`."""
        ...

    def topics(self) -> Collection[str]:
        """Names of topics, to suggest some for an unknown name."""
        ...

    def brokers(self) -> Collection[str]:
        """Names and addresses of brokers, to suggest some for an unknown name."""
        ...


class JournalAnswers:
    """Answers from journals of name servers."""

    def __init__(
        self,
        folders: Sequence[str | FoundJournal],
        namesrv: str | None = None,
        *,
        back_ms: int = DAY_MS,
        limit_bytes: int = EVIDENCE_BYTES,
        progress: SourceProgress | None = None,
    ) -> None:
        """List their segments.

        Args:
            folders: the folders; of one without a journal, the journals in the folders below it. Or journals
                that were found.
            namesrv: use only this name server; None uses all.
            back_ms: how long before a time the history of a topic is read, see `JournalFolder`.
            limit_bytes: bounds the memory of the history that gives evidence, see `JournalFolder`.
            progress: called when a segment was read; None for nothing.

        Raises:
            JournalError: a folder is not a journal or can't be read.
            ConfigError: `namesrv` is not there, or two folders are of one name server.
        """
        self._back_ms = back_ms
        self._audit_notes: list[str] = []
        opened: dict[FoundJournal, JournalFolder] = {}
        for found in (each for folder in folders for each in found_in(folder)):
            if found not in opened:
                report = None if progress is None else partial(progress, str(found))
                opened[found] = JournalFolder(found, report, limit_bytes=limit_bytes)
        self._found = one_of_each((journal.namesrv, found) for found, journal in opened.items())
        self._journals = {journal.namesrv: journal for journal in opened.values()}
        if namesrv is not None:
            self._take_only(namesrv)

    @property
    def notes(self) -> list[str]:
        """Lines about the parts that the last answer could not read."""
        notes = [f"{journal.place}: {note}" for journal in self._journals.values() for note in journal.notes]
        return [*notes, *self._audit_notes]

    def namesrvs(self) -> list[str]:
        """Ids of the name servers, sorted."""
        return sorted(self._journals)

    def instant(self, at: int | None) -> int | None:
        """The instant that an answer about a time (wall ms) is about; None is the end of each name server.

        Of the present, an observer knows the last answer of its name server.
        """
        if at is None:
            return None
        ends = (each.running_at for each in self._journals.values() if each.running_at is not None)
        return min((end for end in ends if end < at <= end + PRESENT_MS), default=at)

    def held(self, namesrv: str, at: int | None) -> HeldAt:
        """Everything that one of the name servers held at a time."""
        found = self._journals[namesrv].state_at(at)
        state = found.state if found.knowledge is Knowledge.KNOWN else None
        return HeldAt(namesrv, found.at, found.knowledge, found.knows_up_to, state)

    def routes(self, topic: str, at: int | None) -> list[RouteAt]:
        """The route of a topic at each name server, at a time."""
        return [self._route(journal, topic, at) for journal in self._journals.values()]

    def evidence(self, topic: str, at: int | None) -> list[Evidence]:
        """The evidence about a topic at each name server."""
        return [journal.evidence(topic, at, self._back_ms) for journal in self._journals.values()]

    def topics(self) -> set[str]:
        """Names of the recent topics of all journals."""
        return {topic for journal in self._journals.values() for topic in journal.topics(self._back_ms)}

    def brokers(self) -> set[str]:
        """Names and addresses of the recent brokers of all journals."""
        return {name for journal in self._journals.values() for name in journal.brokers(self._back_ms)}

    def changes(self, name: str | None, begin_at: int, end_at: int) -> list[HistoryEvent]:
        """Changes of the rows about a topic, a broker or an address after `begin_at`, up to `end_at`.

        A name of None is everything.
        """
        return [
            event for journal in self._journals.values() for event in journal.changes(name, begin_at, end_at)
        ]

    def histories(
        self, at: int | None, back_ms: int, namesrvs: Collection[str] | None = None
    ) -> list[History]:
        """The history of every row at each name server."""
        wanted = self._journals if namesrvs is None else namesrvs
        return [
            journal.history(at, back_ms) for namesrv, journal in self._journals.items() if namesrv in wanted
        ]

    def about(self, name: str | None, begin_at: int) -> list[History]:
        """The history of a name at each name server from a time on; None is everything."""
        return [journal.about(name, begin_at) for journal in self._journals.values()]

    def audit(self, begin_at: int, end_at: int, query: AuditQuery = EVERY_REQUEST) -> list[AuditEntry]:
        """Requests that access rules checked, or that were refused, after `begin_at`, up to `end_at`."""
        self._audit_notes.clear()
        found = [self._found[namesrv] for namesrv in self._journals]
        return read_audit(found, begin_at, end_at, query, self._audit_notes.append)

    def _route(self, journal: JournalFolder, topic: str, at: int | None) -> RouteAt:
        found = journal.state_at(at, topic)
        is_known = found.knowledge is Knowledge.KNOWN
        route = route_of(found.state, topic) if is_known else None
        uncertain = journal.uncertain_changes(topic, found.at) if is_known and found.is_uncertain else []
        return RouteAt(journal.namesrv, found.at, found.knowledge, found.knows_up_to, route, uncertain)

    def _take_only(self, namesrv: str) -> None:
        if namesrv not in self._journals:
            there = ", ".join(sorted(self._journals))
            raise ConfigError(f"there is no journal of {namesrv!r}; the journals are of {there}")
        self._journals = {namesrv: self._journals[namesrv]}


def found_in(folder: str | FoundJournal) -> list[FoundJournal]:
    """The journals in a folder, or the one that was found."""
    return [folder] if isinstance(folder, FoundJournal) else find_journals(folder)


def no_such_cluster(label: str, labels: Iterable[str]) -> ConfigError:
    """The error that no name server has the label of a cluster.

    Args:
        label: the one that is not there.
        labels: those of the name servers; empty: none.
    """
    there = sorted({each for each in labels if each})
    what = f"the labels are {', '.join(there)}" if there else "no name server has a label (clusterLabel)"
    return ConfigError(f"there is no cluster {label!r}: {what}")
