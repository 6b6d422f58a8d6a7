"""Streams of events: each reader has its own, and a slow one loses nothing that still matters."""

import asyncio
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from namekeeper.client.routes.events import TopicEvent, coalesce, kind_of

__all__ = ["EventStream", "EventStreams"]


class EventStream:
    """An async iterator of events; an async context manager that closes it.

    At most one event of each kind waits for each topic: what comes while it waits is merged into it, so that
    a slow reader gets from what it knows to what is true in one step. That bounds what waits.
    """

    def __init__(self, topics: Iterable[str], on_close: Callable[["EventStream"], object]) -> None:
        self.topics = frozenset(topics)
        """The topics it tells of; empty: all."""
        self._on_close = on_close
        self._waiting: dict[tuple[str, str], TopicEvent] = {}
        self._something = asyncio.Event()
        self._is_finished = False

    @property
    def waiting(self) -> int:
        """Events that wait to be read."""
        return len(self._waiting)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TopicEvent:
        """Wait for the next event; the iteration ends when the stream or the client is closed."""
        while not self._waiting:
            if self._is_finished:
                raise StopAsyncIteration
            self._something.clear()
            await self._something.wait()
        return self._waiting.pop(next(iter(self._waiting)))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def put(self, event: TopicEvent) -> None:
        """Add an event, or merge it into one that waits."""
        if self._is_finished or (self.topics and event.topic not in self.topics):
            return
        key = (event.topic, kind_of(event))
        before = self._waiting.get(key)
        after = event if before is None else coalesce(before, event)
        if after is None:
            del self._waiting[key]
        else:
            self._waiting[key] = after
            self._something.set()

    def finish(self) -> None:
        """Nothing more comes; what waits can still be read."""
        self._is_finished = True
        self._something.set()

    def close(self) -> None:
        """Nobody reads any more: forget what waits; may be called twice."""
        self._waiting.clear()
        self.finish()
        self._on_close(self)


class EventStreams:
    """All streams of a client."""

    def __init__(self) -> None:
        self._streams: dict[EventStream, None] = {}
        self._is_closed = False

    @property
    def topics(self) -> Iterable[str]:
        """Topics that some stream asks for by name."""
        return [topic for stream in self._streams for topic in stream.topics]

    def open(self, topics: Iterable[str]) -> EventStream:
        """Open one more; on a closed client it is at its end."""
        stream = EventStream(topics, self._forget)
        if self._is_closed:
            stream.finish()
        else:
            self._streams[stream] = None
        return stream

    def put(self, events: Iterable[TopicEvent]) -> None:
        """Tell all of them."""
        for event in events:
            for stream in self._streams:
                stream.put(event)

    def finish(self) -> None:
        """The client is closed: each stream ends after what waits in it."""
        self._is_closed = True
        for stream in self._streams:
            stream.finish()
        self._streams.clear()

    def _forget(self, stream: EventStream) -> None:
        self._streams.pop(stream, None)
