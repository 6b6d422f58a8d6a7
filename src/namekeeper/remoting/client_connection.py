"""One connection of a client: answers matched to requests by opaque (protocol.md 1.7, traps T40 and T50)."""

import asyncio
import logging
from collections.abc import Callable
from typing import cast

from namekeeper.errors import RemotingClosedError
from namekeeper.wire.codec import CommandDecoder, encode_response
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["UNASKED_LIMIT", "ClientConnection", "RequestCallback"]

SILENCE_SECONDS = 10.0
"""The client closes a connection if a request times out and nothing arrived for this long.

Java closes it at the first time-out. That unregisters the broker that registered over it (trap T25).
"""

UNASKED_LIMIT = 64
"""Most frames in a row that answer no request; more end the connection. A peer that sends them without end
takes the event loop. A late answer is no such frame."""

SLICE_BYTES = 16_384
"""Bytes that are decoded before their frames are counted: one read has a quarter of a megabyte, thousands of
frames."""

_log = logging.getLogger("namekeeper.remoting")

RequestCallback = Callable[[RemotingCommand, str], Response | None]
"""Gets a request from the peer, and the peer's address; returns the answer."""


class ClientConnection(asyncio.Protocol):
    """Writes requests, gives each answer to its caller, and fails all open requests when it closes."""

    def __init__(
        self,
        addr: str,
        *,
        max_frame_bytes: int,
        on_request: RequestCallback | None,
        on_lost: Callable[["ClientConnection"], None],
    ) -> None:
        self.addr = addr
        self.is_open = False
        """Whether requests can be sent."""
        self.has_received = False
        """Whether the peer has ever sent anything."""
        self.used_at = 0.0
        """Loop time of the last request."""
        self.gone = asyncio.Event()
        """Set when the socket is closed."""
        self._on_request = on_request
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._decoder = CommandDecoder(max_frame_bytes)
        self._pending: dict[int, asyncio.Future[RemotingCommand]] = {}
        self._unanswered_since: float | None = None
        self._owed = 0
        """Answers that the peer has still to send, also to callers that have given up."""
        self._unasked = 0
        self.is_retired = False
        """Whether the client ends it: it takes no more requests."""
        self._writable = asyncio.Event()
        self._writable.set()

    @property
    def pending(self) -> int:
        """Requests that wait for their answer."""
        return len(self._pending)

    async def ready(self) -> None:
        """Wait until the peer has read enough of the earlier output."""
        await self._writable.wait()
        if not self.is_open:
            raise RemotingClosedError(
                self.addr, "the connection was closed before the request was sent; try again"
            )

    def write(self, frame: bytes) -> None:
        """Send a frame that gets no answer."""
        self._transport.write(frame)

    async def exchange(self, opaque: int, frame: bytes) -> RemotingCommand:
        """Send a request and wait for its answer; raises RemotingClosedError if the connection closes."""
        answer: asyncio.Future[RemotingCommand] = self._loop.create_future()
        self._pending[opaque] = answer
        self._owed += 1
        if self._unanswered_since is None:
            self._unanswered_since = self._loop.time()
        try:
            self._transport.write(frame)
            return await answer
        finally:
            self._pending.pop(opaque, None)
            if answer.cancelled():
                self._give_up_if_silent()
            self._close_if_retired()

    def retire(self) -> None:
        """Close as soon as no request is open."""
        self.is_retired = True
        self._close_if_retired()

    def close(self) -> None:
        """Close after the output has gone out; may be called twice."""
        self.is_open = False
        self._transport.close()

    def abort(self) -> None:
        """Close at once; output may be lost."""
        self.is_open = False
        self._transport.abort()

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Allow requests from now on."""
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Hand complete answers to their callers."""
        self.has_received = True
        self._unanswered_since = None
        for start in range(0, len(data), SLICE_BYTES):
            for command in self._decoder.feed(data[start : start + SLICE_BYTES]):
                self._take(command)
            if self._decoder.frames.failure:
                self._give_up(
                    f"the peer sent bytes that are no frame ({self._decoder.frames.failure}); is it RocketMQ?"
                )
                return
            if self._unasked > UNASKED_LIMIT:
                self._give_up("the peer sent frames that nobody asked for; is it RocketMQ?")
                return
        if self._pending:
            self._unanswered_since = self._loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail all open requests."""
        self.is_open = False
        self._writable.set()
        why = f" ({exc})" if exc is not None else ""
        self._fail_pending(f"the connection was closed{why} before the answer came; try again")
        self._on_lost(self)
        self.gone.set()

    def pause_writing(self) -> None:
        """Make senders wait: the peer does not read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let the senders go on."""
        self._writable.set()

    def _take(self, command: RemotingCommand) -> None:
        """Give an answer to its caller, or answer a request."""
        self._unasked += 1
        if not command.is_response:
            if self._on_request is not None:
                self._unasked = 0
            self._serve(command)
            return
        if self._owed:
            self._owed -= 1
            self._unasked = 0
        answer = self._pending.pop(command.opaque, None)
        if answer is not None and not answer.done():  # otherwise its caller has given up
            answer.set_result(command)

    def _give_up(self, message: str) -> None:
        """Fail all open requests, and close at once."""
        self._fail_pending(message)
        self.abort()

    def _serve(self, request: RemotingCommand) -> None:
        """Answer a request from the peer."""
        response: Response | None
        try:
            response = (
                self._on_request(request, self.addr) if self._on_request is not None else _NOT_SUPPORTED
            )
        except Exception as error:  # noqa: BLE001 - a bug of the callback must not end the connection
            _log.error("request code %d from %s failed", request.code, self.addr, exc_info=error)
            response = Response(ResponseCode.SYSTEM_ERROR, f"{type(error).__name__}: {error}")
        if response is not None and not request.is_oneway and self.is_open:
            self.write(encode_response(response, opaque=request.opaque))

    def _fail_pending(self, message: str) -> None:
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(RemotingClosedError(self.addr, message))

    def _give_up_if_silent(self) -> None:
        since = self._unanswered_since
        if since is not None and self.is_open and self._loop.time() - since >= SILENCE_SECONDS:
            _log.warning("closing the connection to %s: answers are due, and nothing arrives", self.addr)
            self.abort()

    def _close_if_retired(self) -> None:
        if self.is_retired and not self._pending and self.is_open:
            self.close()


_NOT_SUPPORTED = Response(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "this client takes no requests")
