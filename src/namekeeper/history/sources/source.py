"""A source of history: the steps of name servers, wherever they come from."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from namekeeper.history.history import History
from namekeeper.history.rows import LiveKey
from namekeeper.journal.reading.coverage import Coverage
from namekeeper.journal.reading.history import Step

__all__ = ["HistorySource", "Present", "Steps"]


class Present(Struct, frozen=True):
    """The state of a name server after its last step."""

    is_running: bool = False
    """Whether it runs now."""
    until: int | None = None
    """End of the validity of the last step's rows, wall ms; None: no longer than the step says."""
    heard: Mapping[LiveKey, int] = {}
    """Live row -> when its broker was heard last, wall ms; of name servers that run and write it down."""


class Steps(ABC):
    """The steps of one name server; each iteration gives those that came since the one before."""

    problem: str = ""
    """Why the last iteration could not read them; empty if it could."""
    progress: tuple[int, int] = (0, 1)
    """Number of parts that were read, and of all parts; equal once everything is read."""
    notes: Sequence[str] = ()
    """Texts about the parts that could not be read."""

    @abstractmethod
    def __iter__(self) -> Iterator[Step]:
        """The steps since the last iteration."""

    @abstractmethod
    def present(self, coverage: Coverage, /) -> Present:
        """The state after the last iteration.

        Args:
            coverage: followed all steps so far.
        """

    def end(self) -> History | None:
        """A history that begins with the last rows, if they are found sooner than all steps; else None."""
        return None


class HistorySource(Protocol):
    """Where the history of name servers comes from."""

    @property
    def keeps_past(self) -> bool:
        """Whether `steps` can give a part of the past again."""
        ...

    def namesrvs(self) -> Sequence[str]:
        """Ids of the name servers, sorted."""
        ...

    def steps(
        self, namesrv: str, about: str | None = None, since: int | None = None, until: int | None = None, /
    ) -> Steps:
        """The steps of a name server.

        Args:
            namesrv: its id.
            about: of topics only the rows with this name are wanted, see `History`; None: every row.
            since: wall ms from which on the state is wanted; None: from the first step on.
            until: wall ms; later steps may be left out. None: all are wanted.
        """
        ...
