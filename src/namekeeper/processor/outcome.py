"""The result of a handler: an answer, complete or incremental, or a change for the change queue."""

from collections.abc import Callable, Generator, Hashable
from enum import Enum
from typing import Any

from msgspec import Struct

from namekeeper.route.change import TableChange
from namekeeper.route.events import Change
from namekeeper.wire.command import Response

__all__ = ["Deferred", "Outcome", "Save", "Sliced"]


class Save(Enum):
    """A file that the server writes before it sends the answer."""

    KV_CONFIG = "kv_config"
    CONFIG = "config"


class Outcome(Struct, frozen=True):
    """The answer to a request, and its consequences as values."""

    response: Response
    change: Change | None = None
    save: Save | None = None


class Deferred(Struct, frozen=True):
    """A change of the route tables for the change queue."""

    change: TableChange[Any]
    answer: Callable[[Any], Response]
    """From the change's result to the answer."""


class Sliced(Struct, frozen=True):
    """An answer that takes longer than an iteration: the server makes it incrementally."""

    key: Hashable
    """Requests with the same key share one answer."""
    make: Callable[[], Generator[None, None, Response]]
    """Makes the answer, from the tables as they are in its first slice."""
