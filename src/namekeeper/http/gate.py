"""Limits of the connections to an HTTP port: their number in each stage, and the duration of each stage.

A connection carries one request. It has a slot for its present stage, and gives it back with the next stage:

1. *asking*: its request is not complete. At the limit the server closes a connection that had time to ask. A
burst of connections never closes a probe of the same host whose request is on its way.
2. *answering*: the server makes the answer. At the limit it answers 503. Probes need no such slot.
3. *reading*: the peer reads the answer. At the limit the server closes the oldest connection.
4. A stream has a slot among the streams of its kind. At their limit the server ends one of the host with the
most streams, if this host has more than its share; else it answers 503.

The host with the most connections in a stage loses one, so a host can't keep others out.
"""

import asyncio
import fcntl
import re
import struct
import termios
from collections.abc import Callable
from typing import cast

from aiohttp import web

from namekeeper.http.slots import Slots
from namekeeper.remoting.address import sharing_host

__all__ = ["ANSWERS_LIMIT", "Connection", "Gate"]

ASKING_LIMIT = 64
"""Connections without a complete request: a few scrapers, probes and people send theirs at once. Each costs a
descriptor that brokers may need."""
ASKING_BURST = 4 * ASKING_LIMIT
"""The limit while each connection is young or has sent bytes that the server has not read. A loop iteration
begins with 4 connections, so a new one has many iterations in any case."""
YOUNG_SECONDS = 1.0
"""Age up to which a connection is young: a probe sends its request at once, and waits a second or two for its
answer."""
FRESH_SECONDS = 0.1
"""Age up to which a connection with a request keeps its descriptor while descriptors are few: probes behind a
burst are answered by then. New connections wait in the kernel meanwhile."""
ANSWERS_LIMIT = 64
"""Answers that the server makes at a time: each may have some megabytes."""
ANSWERS_OF_HOST = ANSWERS_LIMIT // 2
"""Answers for one host."""
READING_LIMIT = 64
"""Peers that read an answer which no kernel buffer took."""
READING_BYTES = 32 * 1024 * 1024
"""Most bytes of all such answers, except the newest: the metrics of thousands of names have a megabyte."""
REQUEST_SECONDS = 5.0
"""Time limit for the head of a request, and then for the body."""
ANSWER_SECONDS = 30.0
"""Time limit for an answer that is no stream: proxies give up then."""
READ_SECONDS = 15.0
"""Interval of the looks at peers that read. The server disconnects a peer that read nothing between two
looks, while bytes wait for it: after 15 to 30 s."""
GOODBYE_SECONDS = 1.0
"""Interval of the looks at connections that the server is closing. Over TLS the server waits for the peer's
goodbye; if all bytes are acknowledged at a look, it waits no longer."""
MAX_REQUEST_BYTES = 64 * 1024
"""Most bytes of a request. The largest requests have cookies of some kilobytes."""
MAX_IGNORED_BYTES = 1024 * 1024
"""Most bytes that a connection may send after its request. The server reads and drops them, because a reset
would destroy the answer with the reason."""

_HEAD_END = re.compile(rb"\r?\n\r?\n(?:SM\r\n\r\n)?")
"""With the second part of the first words of HTTP/2, after which the parser reports that it is no HTTP/1.1.
"""
_HEAD_END_BYTES = 4


class Gate:
    """Makes the protocols of connections, and keeps them within the limits: aiohttp has none of these."""

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._connections: dict[web.RequestHandler, Connection] = {}
        self.asking = Slots[Connection](ASKING_LIMIT)
        self.answering = Slots[Connection](ANSWERS_LIMIT, ANSWERS_OF_HOST)
        self.reading = Slots[Connection](READING_LIMIT)

    def __call__(self) -> asyncio.BaseProtocol:
        """Make the protocol of a new connection."""
        return Connection(self, self._server())

    def __len__(self) -> int:
        """Number of connections."""
        return len(self._connections)

    def connection_of(self, request: web.BaseRequest) -> "Connection":
        """The connection of a request."""
        return self._connections[request.protocol]

    def close(self) -> None:
        """Disconnect every peer."""
        for connection in list(self._connections.values()):
            connection.abort()

    def close_readers(self) -> None:
        """Disconnect the peers that read complete answers.

        aiohttp has closed their transports and closes them again when it stops. A TLS transport of asyncio
        ignores an abort after that.
        """
        for connection in self._readers():
            connection.abort()

    def enter(self, handler: web.RequestHandler, connection: "Connection") -> None:
        """Take a new connection in; if there are too many, disconnect another one."""
        self._connections[handler] = connection
        if len(self.asking) >= self.asking.limit:
            victim = self._slow_one() or (
                self._one_of_a_burst(lambda _: False) if len(self.asking) >= ASKING_BURST else None
            )
            if victim is not None:
                victim.abort()

    def evict_one(self) -> bool:
        """Disconnect a peer because descriptors are few; return whether a new connection should wait.

        It is a slow one, else one of the fullest stage or kind of stream. While only fresh connections with a
        request are there, the next iterations of the loop answer them, and nobody is disconnected.
        """
        fresh_since = asyncio.get_running_loop().time() - FRESH_SECONDS

        def is_fresh(each: Connection) -> bool:
            return each.began > fresh_since

        with_slot = [each for each in self._connections.values() if each.slots is not None]
        victim = self._slow_one()
        if victim is None:
            fullest = max(
                (each.slots for each in with_slot if each.slots is not None), key=len, default=self.asking
            )
            victim = (
                self._one_of_a_burst(is_fresh) if fullest is self.asking else fullest.first_to_go(is_fresh)
            )
        if victim is not None:
            victim.abort()
        return victim is not None or any(map(is_fresh, with_slot))

    def _slow_one(self) -> "Connection | None":
        """Find a connection that has had time to send its request."""
        young_since = asyncio.get_running_loop().time() - YOUNG_SECONDS
        return self.asking.first_to_go(lambda each: each.began > young_since or each.has_sent())

    def _one_of_a_burst(self, is_spared: "Callable[[Connection], bool]") -> "Connection | None":
        """Find the connection that is least like a probe: probes send a complete request at once.

        Args:
            is_spared: whether a connection stays that has sent something which the server has not read yet.
        """
        return (
            self.asking.first_to_go(lambda each: not each.has_begun or each.has_sent())
            or self.asking.first_to_go(lambda each: each.has_sent())
            or self.asking.first_to_go(is_spared)
        )

    def leave(self, handler: web.RequestHandler) -> None:
        """Forget a closed connection."""
        self._connections.pop(handler, None)

    def evict_readers(self, size: int) -> None:
        """Disconnect peers that read old answers, so that one more answer may wait.

        Args:
            size: bytes of the new answer.
        """
        while len(self.reading) and (
            len(self.reading) >= self.reading.limit
            or sum(each.answer_bytes for each in self._readers()) + size > READING_BYTES
        ):
            victim = self.reading.first_to_go(lambda _: False)
            assert victim is not None
            victim.abort()

    def _readers(self) -> "list[Connection]":
        return [each for each in self._connections.values() if each.slots is self.reading]


class Connection(asyncio.Protocol):
    """One connection with its stage, in front of the protocol of aiohttp.

    aiohttp gets the head of one request, and a body only for a page that takes one. It sees no other bytes,
    so it parses, inflates or drains nothing else.
    """

    slots: Slots["Connection"] | None = None
    """The slots among which this connection has one."""
    answer_bytes = 0
    """Size of the answer that the peer reads."""
    began = 0.0
    """Time of its acceptance, on the clock of the loop."""

    def __init__(self, gate: Gate, handler: web.RequestHandler) -> None:
        self._gate = gate
        self._handler = handler
        self._transport: asyncio.Transport | None = None
        self._host = ""
        self._left = MAX_REQUEST_BYTES
        self._ignored_left = MAX_IGNORED_BYTES
        self._last = b""
        """The end of the bytes that the parser got, while the head is not complete."""
        self._rest: bytes | None = None
        """The first bytes after the head, for a page that takes a body; None before the end of the head."""
        self._takes_body = False
        self._request: web.BaseRequest | None = None
        self._passed_bytes = -1
        """Bytes of the answer that had left the process at the last look."""
        self._passed_at = 0.0
        """Time of the first look with this number, on the clock of the loop."""
        self._timer: asyncio.TimerHandle | None = None
        self.is_over = asyncio.Event()
        """Set when no task works on the answer any more."""

    # Stages

    def wait_for_body(self, size: int) -> None:
        """Pass the body of the request on; its time starts.

        Args:
            size: most bytes of it; with more than the rest of `MAX_REQUEST_BYTES` its client must have
                waited for `100 Continue`.
        """
        self._left = max(self._left, size)
        rest, self._rest = self._rest or b"", b""
        self._takes_body = True
        self._abort_in(REQUEST_SECONDS)
        self._pass_on(rest)

    def answer(self) -> bool:
        """Start to answer; return False if there is no slot."""
        if not self._gate.answering.has_room(self._host):
            return False
        self._take(self._gate.answering)
        self._abort_in(ANSWER_SECONDS)
        return True

    async def stream(self, request: web.BaseRequest, slots: "Slots[Connection]") -> bool:
        """Start an answer that lasts as long as its peer reads it; return False if there is no slot.

        Args:
            request: counts the sent bytes.
            slots: the slots of its kind.
        """
        victim = None
        if not slots.has_room(self._host):
            victim = slots.held_unfairly(self._host)
            if victim is None:
                return False
            victim.abort()
        self._take(slots)
        self._request = request
        self._look()
        if victim is not None:
            await victim.is_over.wait()  # its topics count against a limit, too
        return True

    def read(self, request: web.BaseRequest, size: int) -> None:
        """Note that the answer is complete: its peer has to read it.

        Args:
            request: counts the sent bytes.
            size: bytes of the answer.
        """
        if self._transport is None:
            return
        self._request = request
        self.answer_bytes = size
        self._take(None)
        self._gate.evict_readers(size)
        self._take(self._gate.reading)
        self._look_in(GOODBYE_SECONDS)

    def abort(self) -> None:
        """Disconnect the peer."""
        self._take(None)
        self._stop_timer()
        if self._transport is not None:
            self._transport.abort()

    @property
    def has_begun(self) -> bool:
        """Whether the server has read a part of its request, and waits for the rest."""
        return bool(self._last) if self._rest is None else self._takes_body

    def has_sent(self) -> bool:
        """Whether the peer has sent a request, or bytes that the server has not read yet."""
        return (self._rest is not None and not self._takes_body) or self._has_unread_bytes()

    def _has_unread_bytes(self) -> bool:
        return self._bytes_in_kernel(termios.FIONREAD) > 0

    def _bytes_in_kernel(self, queue: int) -> int:
        """Count the bytes of the socket in a queue of the kernel: FIONREAD or TIOCOUTQ."""
        assert self._transport is not None
        found = self._transport.get_extra_info("socket")
        if found is None or found.fileno() < 0:
            return 0
        try:
            waiting = fcntl.ioctl(found.fileno(), queue, b"\0" * 4)
        except OSError:
            return 0
        count: int = struct.unpack("i", waiting)[0]
        return count

    def _take(self, slots: "Slots[Connection] | None") -> None:
        """Change the slot of this connection."""
        if self.slots is not None:
            self.slots.remove(self._host, self)
        self.slots = slots
        if slots is not None:
            slots.add(self._host, self)

    def _abort_in(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.abort)

    def _look_in(self, seconds: float) -> None:
        self._stop_timer()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """Disconnect a peer that has read nothing since the last look; else look again later."""
        self._stop_timer()
        transport, request = self._transport, self._request
        if transport is None or request is None:
            return
        now = asyncio.get_running_loop().time()
        waiting = transport.get_write_buffer_size()
        passed = request.writer.output_size - waiting
        if not waiting and transport.is_closing() and not self._bytes_in_kernel(termios.TIOCOUTQ):
            self.abort()  # TLS alone keeps it: the kernel has no byte, so no layer above it has one
            return
        if not waiting or passed != self._passed_bytes:
            self._passed_bytes, self._passed_at = passed if waiting else -1, now
        elif now - self._passed_at >= READ_SECONDS:
            self.abort()
            return
        self._look_in(GOODBYE_SECONDS if transport.is_closing() else READ_SECONDS)

    def _stop_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    # The protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to wait for a request."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass of it
        self._host = sharing_host((transport.get_extra_info("peername") or ("",))[0])
        self.began = asyncio.get_running_loop().time()
        self._gate.enter(self._handler, self)
        self._take(self._gate.asking)
        self._abort_in(REQUEST_SECONDS)
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass the head of the request on, and the body to a page that takes one."""
        if self._rest is None:
            self._take_head(data)
        elif self._takes_body and self.slots is self._gate.asking:
            self._pass_on(data)
        else:
            self._rest += data[: max(0, self._left - len(self._rest))]
            self._ignored_left -= len(data)
            if self._ignored_left < 0:
                self.abort()

    def _take_head(self, data: bytes) -> None:
        if not self._last:
            data = data.lstrip(b"\r\n")  # blank lines before a request
        seen = self._last + data
        end = _HEAD_END.search(seen)
        if end is None:
            self._last = seen[-_HEAD_END_BYTES:]
        else:
            size = end.end() - len(self._last)
            data, rest = data[:size], data[size:]
            self._rest = rest[: max(0, self._left - size)]
        self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        """Have aiohttp read a part of the request, unless it is too large: the parser keeps it to its end."""
        self._left -= len(data)
        if self._left < 0:
            self.abort()
        elif data:
            self._handler.data_received(data)

    def eof_received(self) -> None:
        """Pass it on."""
        self._handler.eof_received()

    def pause_writing(self) -> None:
        """Pass it on."""
        self._handler.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        self._handler.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the slot back and forget the connection."""
        self._take(None)
        self._stop_timer()
        self._transport = None
        self._handler.connection_lost(exc)
        self._gate.leave(self._handler)
