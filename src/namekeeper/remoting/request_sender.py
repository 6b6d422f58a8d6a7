"""The interface for sending a request and waiting for its answer: `RemotingClient`, or a sender of a test."""

from collections.abc import Mapping
from typing import Protocol

from namekeeper.wire.command import RemotingCommand

__all__ = ["RequestSender"]


class RequestSender(Protocol):
    """Sends a request to an address and returns the answer, whatever its code."""

    async def invoke(
        self,
        addr: str,
        code: int,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_ms: int = 3_000,
    ) -> RemotingCommand:
        """Send one request and wait for its answer; RemotingError if there is none."""
        ...
