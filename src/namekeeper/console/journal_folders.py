"""Folders in which journals are followed, also those that appear there later."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from namekeeper.answers.source import no_such_cluster
from namekeeper.clock import Clock
from namekeeper.errors import ConfigError, JournalError
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal.reading.reader import FoundJournal, JournalReader, find_journals

__all__ = ["JournalFolders"]


class JournalFolders:
    """The journals in some folders.

    Args:
        folders: each is a journal, or has several below it.
        made: a folder that this process fills. It is no problem that there is no journal yet. Empty: none.
        clock: tells the present; None is the system's.
        label: of the cluster whose journals are followed; None: all are.
        has_left: tells of a journal in `made` whether its name server is gone, so that it is not followed.
    """

    def __init__(
        self,
        folders: Sequence[str],
        made: str = "",
        clock: Clock | None = None,
        *,
        label: str | None = None,
        has_left: Callable[[FoundJournal], bool] = lambda _: False,
    ) -> None:
        self._folders = [*folders, *([made] if made else [])]
        self._made, self._clock, self._label = made, clock, label
        self._has_left = has_left
        self._others: dict[FoundJournal, str] = {}
        """Journals of other clusters, with their labels."""
        self._taken: dict[FoundJournal, str] = {}
        """Journal -> id of its name server."""
        self.problems: Mapping[str, str] = {}
        """A folder, or a journal in it, that can't be followed -> why."""

    @property
    def found(self) -> Sequence[FoundJournal]:
        """The journals that are followed."""
        return [*self._taken]

    @property
    def by_name(self) -> Mapping[str, FoundJournal]:
        """Id of each name server whose journal is followed, and the journal."""
        return {namesrv: found for found, namesrv in self._taken.items()}

    def open(self) -> list[JournalSource]:
        """The journals that are there now.

        Raises:
            JournalError: there is none in a folder, or one can't be read.
            ConfigError: two are of one name server, or no journal has the label.
        """
        new = self._new()
        if self._label is not None and self._folders and not new and not self._taken:
            raise no_such_cluster(self._label, self._others.values())
        for problem in new.values():
            if isinstance(problem, JournalError | ConfigError):
                raise problem
        return [each for each in new.values() if isinstance(each, JournalSource)]

    def look(self) -> list[JournalSource]:
        """The journals that came since the last look; `problems` has those that can't be followed."""
        new = self._new()
        self.problems = {
            str(found): str(each) for found, each in new.items() if not isinstance(each, JournalSource)
        }
        return [each for each in new.values() if isinstance(each, JournalSource)]

    def drop_left(self) -> list[str]:
        """Follow no more the journals whose name servers are gone, and those that were removed.

        Returns:
            Ids of their name servers.
        """
        gone = [each for each in self._taken if self._was_removed(each) or self._is_left_in_made(each)]
        return [self._taken.pop(each) for each in gone]

    def _was_removed(self, found: FoundJournal) -> bool:
        """Whether the folder of a journal is gone from a folder of several, which is there."""
        folder = Path(found.folder)
        return found.folder not in self._folders and folder.parent.is_dir() and not folder.exists()

    def _is_left_in_made(self, found: FoundJournal) -> bool:
        is_made = bool(self._made) and Path(found.folder).parent == Path(self._made)
        is_given = any(
            Path(found.folder).is_relative_to(each) for each in self._folders if each != self._made
        )
        return is_made and not is_given and self._has_left(found)

    def _new(self) -> dict[FoundJournal, JournalSource | JournalError | ConfigError]:
        """Journals that are not followed yet, or why one can't be."""
        found: dict[FoundJournal, JournalSource | JournalError | ConfigError] = {}
        for folder in self._folders:
            for each in find_journals(folder):
                if each in self._taken or each in found or each in self._others:
                    continue
                if self._is_left_in_made(each):
                    continue
                try:
                    if self._is_wanted(each):
                        found[each] = self._take(each)
                except (JournalError, ConfigError) as error:
                    if folder != self._made or isinstance(error, ConfigError):
                        found[each] = error
        return found

    def _is_wanted(self, found: FoundJournal) -> bool:
        """Whether a journal has the label. One without any is looked at again: its first records may come.

        Raises:
            JournalError: it can't be read.
        """
        if self._label is None:
            return True
        label = JournalReader(found).cluster_label()
        if label not in ("", self._label):
            self._others[found] = label
        return label == self._label

    def _take(self, found: FoundJournal) -> JournalSource:
        source = JournalSource([found], self._clock)
        (namesrv,) = source.namesrvs()
        for other, name in self._taken.items():
            if name == namesrv:
                raise ConfigError(f"{other} and {found} are both the journal of {namesrv}: give one of them")
        self._taken[found] = namesrv
        return source
