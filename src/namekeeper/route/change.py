"""What a change of the tables looks like to those who run it: it may take many turns, and shows at once."""

from collections.abc import Collection, Generator, Iterable
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from namekeeper.model.now import Now
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause, Event
from namekeeper.route.tables import RouteTables

__all__ = ["Applied", "Edit", "TableChange", "Turn", "Turns", "shown"]

R = TypeVar("R")


class Turn:
    """The instant of the turn that is running; who runs a change sets it before each turn."""

    __slots__ = ("now",)

    def __init__(self, now: Now) -> None:
        self.now = now


class Applied(Struct, Generic[R], frozen=True):
    """What a change came to: an answer for who asked, and the events."""

    result: R
    events: tuple[Event, ...] = ()


Turns = Generator[Applied[R] | None, None, Applied[R] | None]
"""A change under way: each `yield` ends a turn.

The turn in which it becomes visible gives what it came to, so that events are told in the order in which
they happened: that is what is returned, or yielded if turns of cleaning up follow.
"""


class TableChange(Protocol[R]):
    """Something that changes the tables."""

    @property
    def cause(self) -> Cause:
        """Why it is made."""
        ...

    @property
    def remote_addr(self) -> str | None:
        """Who asked; None when nobody did."""
        ...

    def touches(self, tables: RouteTables) -> Collection[str]:
        """Broker names whose rows it reads or writes, judged now."""
        ...

    def run(self, tables: RouteTables, turn: Turn) -> "Applied[R] | Turns[R]":
        """Do it, at once or in turns; the state is judged when a turn runs, not when the change was made."""
        ...


class Edit:
    """Events applied to the tables one by one, and kept in order."""

    __slots__ = ("events", "tables")

    def __init__(self, tables: RouteTables) -> None:
        self.tables = tables
        self.events: list[Event] = []

    def apply(self, event: Event, channel: Channel | None = None) -> None:
        """Apply an event and keep it."""
        self.tables.apply(event, channel)
        self.events.append(event)

    def applied(self, result: R) -> Applied[R]:
        """What the change came to."""
        return Applied(result, tuple(self.events))


def shown(applied: Applied[R], cleaning: Iterable[None]) -> Turns[R]:
    """The turns of a change that is visible now: it is told in this turn, however long cleaning up takes."""
    untold: Applied[R] | None = applied
    for _ in cleaning:
        yield untold
        untold = None
    return untold
