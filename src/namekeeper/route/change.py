"""The protocol of a change of the tables: build, commit, clean up (docs/decisions/0003)."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from namekeeper.model.now import Now
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause, Event, TopicQueuesChanged
from namekeeper.route.tables import RouteTables

__all__ = ["Applied", "Edit", "OneStep", "TableChange"]

R = TypeVar("R")


class Applied(Struct, Generic[R], frozen=True):
    """The outcome of a commit: the result for the requester, and the events in their order."""

    result: R
    events: tuple[Event, ...] = ()


class TableChange(Protocol[R]):
    """A change of the tables, made in three steps.

    The change queue calls `build`, then `commit`, then `clean_up`. Each item of `build` and of `clean_up`
    ends a slice: the server handles other requests before the next one. The commit follows the last slice of
    the build without a break.
    """

    @property
    def cause(self) -> Cause:
        """The reason for the change."""
        ...

    @property
    def remote_addr(self) -> str | None:
        """The address of the requester; None when no request asked for the change."""
        ...

    def touches(self, tables: RouteTables) -> Collection[str]:
        """Broker names whose rows the change would read or write if it were made now."""
        ...

    def build(self, tables: RouteTables) -> Iterator[None]:
        """Prepare the commit beside the tables: readers see none of it. An error leaves nothing behind.

        The queue may close the iterator before its end, and start again later by another call.
        """
        ...

    def commit(self, tables: RouteTables, now: Now) -> Applied[R]:
        """Make the complete change visible, on the tables as they are now."""
        ...

    def clean_up(self, tables: RouteTables, applied: Applied[R]) -> Iterator[None]:
        """Remove from the index the topics that no reader can see any more."""
        ...


class OneStep:
    """A change that has only a commit: no preparation and no clean-up."""

    __slots__ = ()

    def build(self, tables: RouteTables) -> Iterator[None]:  # noqa: ARG002 - what the protocol passes
        """Return no slices."""
        return iter(())

    def clean_up(self, tables: RouteTables, applied: Applied[Any]) -> Iterator[None]:  # noqa: ARG002
        """Return no slices."""
        return iter(())


class Edit:
    """The events of one commit: each is applied to the tables and recorded, in order."""

    __slots__ = ("events", "now", "tables")

    def __init__(self, tables: RouteTables, now: Now) -> None:
        self.tables = tables
        self.now = now
        self.events: list[Event] = []

    def apply(self, event: Event, channel: Channel | None = None, *, updates_index: bool = True) -> None:
        """Apply an event, see `RouteTables.apply`, and record it."""
        self.tables.apply(event, channel, self.now, updates_index=updates_index)
        self.events.append(event)

    def apply_to_names(self, events: Sequence[TopicQueuesChanged]) -> None:
        """Apply events of the same topics for several broker names, and invalidate cached answers once.

        Thousands of broker names may have a topic, and the answers of a topic are the same for all of them.
        """
        for event in events:
            self.tables.apply(event, None, self.now, is_last=event is events[-1])
        self.events += events

    def applied(self, result: R) -> Applied[R]:
        """The outcome of the commit."""
        return Applied(result, tuple(self.events))
