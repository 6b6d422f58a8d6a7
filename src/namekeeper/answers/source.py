"""Where answers come from: something that holds the history of one or more name servers."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from namekeeper.answers.evidence import Evidence
from namekeeper.answers.from_journal import DAY_MS, JournalFolder
from namekeeper.answers.render import RouteAt
from namekeeper.answers.route import route_of
from namekeeper.errors import ConfigError
from namekeeper.journal.reading.coverage import Knowledge

__all__ = ["HistorySource", "JournalSource", "SourceProgress"]

SourceProgress = Callable[[str, int, int], None]
"""Told what is read, how much of it was, and of how much."""


class HistorySource(Protocol):
    """The history of name servers."""

    @property
    def notes(self) -> Sequence[str]:
        """What people should know of the last answer, such as lines that could not be read."""
        ...

    def routes(self, topic: str, at: int | None) -> list[RouteAt]:
        """The route of a topic at each name server, at an instant (wall ms); None is the end of each."""
        ...

    def evidence(self, topic: str, at: int | None) -> list[Evidence]:
        """What is known of a topic at each name server; None is the end of what each knows."""
        ...


class JournalSource:
    """Journal folders, one for each name server."""

    def __init__(
        self,
        folders: Sequence[str],
        namesrv: str | None = None,
        *,
        back_ms: int = DAY_MS,
        progress: SourceProgress | None = None,
    ) -> None:
        """Look at them.

        Args:
            folders: the folders.
            namesrv: only this name server is wanted.
            back_ms: how long before an instant the history of a topic is read, see `JournalFolder`.
            progress: told of segments that were read; None if nobody wants to know.

        Raises:
            JournalError: a folder is no journal or can't be read.
            ConfigError: nobody of that name is there, or twice.
        """
        self._back_ms = back_ms
        self._journals: dict[str, JournalFolder] = {}
        for folder in dict.fromkeys(folders):
            journal = JournalFolder(folder, None if progress is None else partial(progress, folder))
            twin = self._journals.setdefault(journal.namesrv, journal)
            if twin is not journal:
                raise ConfigError(
                    f"{twin.folder} and {folder} are both the journal of {journal.namesrv}: give one of them"
                )
        if namesrv is not None:
            self._take_only(namesrv)

    @property
    def notes(self) -> list[str]:
        """What could not be read."""
        return [f"{journal.folder}: {note}" for journal in self._journals.values() for note in journal.notes]

    def routes(self, topic: str, at: int | None) -> list[RouteAt]:
        """The route of a topic at each name server, at an instant."""
        return [self._route(journal, topic, at) for journal in self._journals.values()]

    def evidence(self, topic: str, at: int | None) -> list[Evidence]:
        """What is known of a topic at each name server."""
        return [journal.evidence(topic, at, self._back_ms) for journal in self._journals.values()]

    def _route(self, journal: JournalFolder, topic: str, at: int | None) -> RouteAt:
        found = journal.state_at(at, topic)
        is_known = found.knowledge is Knowledge.KNOWN
        route = route_of(found.state, topic) if is_known else None
        return RouteAt(journal.namesrv, found.at, found.knowledge, found.coverage.knows_up_to, route)

    def _take_only(self, namesrv: str) -> None:
        if namesrv not in self._journals:
            there = ", ".join(sorted(self._journals))
            raise ConfigError(f"none of the journals is that of {namesrv!r}; they are of {there}")
        self._journals = {namesrv: self._journals[namesrv]}
