"""Limits the number and the duration of connections to the operators' HTTP port."""

import asyncio
from collections.abc import Callable
from typing import cast

from aiohttp import web

__all__ = ["Gate"]

MAX_CONNECTIONS = 64
"""Most connections: there are a few scrapers and people, and each costs a descriptor that brokers may need.
At the limit the connection that has waited longest without a request is closed. Watchers have a limit of
their own."""
REQUEST_SECONDS = 5.0
"""How long a connection may take to send its request."""
MAX_REQUEST_BYTES = 64 * 1024
"""Most bytes that a connection may send. The largest requests have cookies of some kilobytes."""
CONNECTION_SECONDS = 30.0
"""Longest duration of a connection: each has one request, which takes milliseconds."""


class Gate:
    """Lets a bounded number of connections in, each for a bounded time: aiohttp has no limit for either."""

    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._idle: dict[web.RequestHandler, asyncio.TimerHandle] = {}
        """Connections that have sent no request yet, oldest first -> timer that closes each."""
        self._ends: dict[web.RequestHandler, asyncio.TimerHandle] = {}
        """All connections that are not kept -> timer that closes each."""
        self._kept: set[web.RequestHandler] = set()

    def __call__(self) -> asyncio.BaseProtocol:
        """Make the protocol of a new connection."""
        others = len(self._server.connections) - len(self._kept)
        if others >= MAX_CONNECTIONS and not self._close_an_idle_one():
            return _Refusal()
        loop = asyncio.get_running_loop()
        handler = self._server()
        self._idle[handler] = loop.call_later(REQUEST_SECONDS, self._close_idle, handler)
        self._ends[handler] = loop.call_later(CONNECTION_SECONDS, self._end, handler)
        return _Admitted(handler, self._forget)

    def note_request(self, handler: web.RequestHandler) -> None:
        """Note that a connection has sent its request."""
        timer = self._idle.pop(handler, None)
        if timer is not None:
            timer.cancel()

    def keep(self, handler: web.RequestHandler) -> None:
        """Let a connection stay open without a time limit; it doesn't count any more."""
        end = self._ends.pop(handler, None)
        if end is not None:
            end.cancel()
        self._kept.add(handler)

    def release(self, handler: web.RequestHandler) -> None:
        """End the exception of a kept connection: its answer is being sent."""
        self._kept.discard(handler)
        if handler.transport is None:  # its peer left before the answer
            return
        self._ends[handler] = asyncio.get_running_loop().call_later(CONNECTION_SECONDS, self._end, handler)

    def _forget(self, handler: web.RequestHandler) -> None:
        """Drop the timers of a connection that is gone: thousands may come and go before one is due."""
        self.note_request(handler)
        end = self._ends.pop(handler, None)
        if end is not None:
            end.cancel()

    def _end(self, handler: web.RequestHandler) -> None:
        self._ends.pop(handler, None)
        _abort(handler)

    def _close_an_idle_one(self) -> bool:
        """Close the oldest connection without a request; return whether there was one."""
        while self._idle:
            handler = next(iter(self._idle))
            is_open = handler.transport is not None
            self._close_idle(handler)
            if is_open:
                return True
        return False

    def _close_idle(self, handler: web.RequestHandler) -> None:
        self.note_request(handler)
        _abort(handler)


class _Admitted(asyncio.Protocol):
    """A connection of aiohttp, which tells nobody when it is gone."""

    def __init__(self, handler: web.RequestHandler, on_lost: Callable[[web.RequestHandler], None]) -> None:
        self._handler = handler
        self._on_lost = on_lost
        self._left = MAX_REQUEST_BYTES

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Pass it on, like all that follows."""
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Pass it on, unless it is too much: the parser would keep it until the headers end."""
        self._left -= len(data)
        if self._left < 0:
            _abort(self._handler)
        else:
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
        """Pass it on, and tell the gate."""
        self._handler.connection_lost(exc)
        self._on_lost(self._handler)


class _Refusal(asyncio.Protocol):
    """A connection beyond the limit."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it at once."""
        cast("asyncio.Transport", transport).abort()  # uvloop's is no subclass of it


def _abort(handler: web.RequestHandler) -> None:
    if handler.transport is not None:
        handler.transport.abort()
