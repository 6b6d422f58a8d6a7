"""Messages from the writer's thread to the event loop: plain values, quick to import."""

from typing import TypeAlias

from msgspec import Struct

from namekeeper.journal.contract.record import SegmentsDeleted

__all__ = ["CheckpointNeeded", "FolderReady", "FolderRefused", "WriterMessage"]


class FolderRefused(Struct, frozen=True):
    """The folder can't be used, and queued entries are lost. Recording begins again after `FolderReady`."""


class FolderReady(Struct, frozen=True):
    """A folder that was refused can be used now: begin again with seq 1."""


class CheckpointNeeded(Struct, frozen=True):
    """Write a checkpoint soon."""

    reason: str
    """`recovery` or `retention`."""


WriterMessage: TypeAlias = FolderRefused | FolderReady | CheckpointNeeded | SegmentsDeleted
"""`SegmentsDeleted` is a record: the recorder queues it as it is."""
