"""What a handler gives back: the answer, what changed, and what must be on disk before the answer goes out."""

from enum import Enum

from msgspec import Struct

from namekeeper.route.events import Change
from namekeeper.wire.command import Response

__all__ = ["Outcome", "Save"]


class Save(Enum):
    """A file to be written before the answer is sent."""

    KV_CONFIG = "kv_config"
    CONFIG = "config"


class Outcome(Struct, frozen=True):
    """The answer to one request, and its consequences as values."""

    response: Response
    change: Change | None = None
    save: Save | None = None
