"""Streams of events, one for each reader; for a slow reader, events of one topic are merged."""

import asyncio
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from namekeeper.client.routes.events import TopicEvent, coalesce, kind_of
from namekeeper.common.spelled_names import SpelledNames

__all__ = ["EventStream", "EventStreams"]


class EventStream(SpelledNames):
    """An async iterator of events; an async context manager that closes it.

    At most one event of each kind waits for each topic; a later one is merged into it. So a slow reader gets
    one event from the state that it has seen to the current state, and what waits is bounded.
    """

    def __init__(self, topics: Iterable[str], on_close: Callable[["EventStream"], object]) -> None:
        self.topics = frozenset(topics)
        """Topics whose events it gives; empty: all."""
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
        """Accept no more events; those that wait can still be read."""
        self._is_finished = True
        self._something.set()

    def close(self) -> None:
        """Drop the events that wait and end the iteration; may be called twice."""
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
        """Topics that streams name."""
        return [topic for stream in self._streams for topic in stream.topics]

    def open(self, topics: Iterable[str]) -> EventStream:
        """Open a stream; after `finish` it ends at once."""
        stream = EventStream(topics, self._forget)
        if self._is_closed:
            stream.finish()
        else:
            self._streams[stream] = None
        return stream

    def put(self, events: Iterable[TopicEvent]) -> None:
        """Put events into all streams."""
        for event in events:
            for stream in self._streams:
                stream.put(event)

    def finish(self) -> None:
        """End all streams, each after the events that wait in it."""
        self._is_closed = True
        for stream in self._streams:
            stream.finish()
        self._streams.clear()

    def _forget(self, stream: EventStream) -> None:
        self._streams.pop(stream, None)
