"""`GET /watch`: changes of routes as they happen, as a long poll or as server-sent events."""

import asyncio
from collections.abc import Callable

import msgspec
from aiohttp import web
from msgspec import Struct

from namekeeper.access.peer import Peer
from namekeeper.http.page_clients import client_of, token_of
from namekeeper.http.page_table import stream_answer
from namekeeper.http.watchers import WatchedChange, Watcher, WatchRefusal, WatchSource

__all__ = ["REVISION_HEADER", "WatchPage"]

REVISION_HEADER = "Namekeeper-Revision"
TOPICS_LIMIT = 200
"""Topics of one watcher; a request line has room for fewer if their names are long."""
POLL_SECONDS = 25
"""Default duration of a long poll: proxies give up after 30 s."""
POLL_SECONDS_LIMIT = 60
BEAT_SECONDS = 15
"""After this long without a change a stream gets a comment: it shows whether the client is still there, and
keeps proxies from closing it."""
WRITE_SECONDS = 30
"""The server closes a watcher that reads nothing for this long."""
ENCODED_KEPT = 64
"""Changes whose JSON is kept: watchers of the same topics get the same change soon after each other."""
EVENT_STREAM = "text/event-stream"
_STREAM_HEADERS = {
    "Content-Type": EVENT_STREAM,
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",  # nginx keeps answers back until it has some kilobytes of them
}
AT_ONCE_BYTES = 16_384
"""Bytes that a transport with an empty buffer takes without a wait."""


class _WatchRequest(Struct, frozen=True):
    """A checked request."""

    topics: frozenset[str]
    after: str | None
    seconds: float


class WatchPage:
    """Answers requests for the page."""

    def __init__(
        self,
        source: WatchSource,
        *,
        refuse: Callable[[Peer, str | None], str | None],
    ) -> None:
        """Take the source.

        Args:
            source: the source of changes.
            refuse: returns why a client may not watch, by its connection and its token; None if it may.
        """
        self._source = source
        self._refuse = refuse
        self._watchers: dict[Watcher, web.BaseRequest] = {}
        self._encoded: dict[int, tuple[WatchedChange, msgspec.Raw]] = {}
        """Id of a change -> the change, so that no other one gets its id, and its JSON."""

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        asked = _checked(request)
        if isinstance(asked, str):
            return _text(400, asked)
        watcher = await self._source.watch(asked.topics, asked.after)
        if isinstance(watcher, WatchRefusal):
            refused = _text(503, watcher.value)
            refused.headers["Retry-After"] = "1"
            return refused
        self._watchers[watcher] = request
        try:
            if EVENT_STREAM in request.headers.get("Accept", ""):
                return await self._stream(request, watcher, is_resumed=asked.after is not None)
            return await self._poll(watcher, asked)
        finally:
            del self._watchers[watcher]
            watcher.close()

    def judge_again(self) -> None:
        """End the watchers that other access rules do not allow."""
        for watcher, request in self._watchers.items():
            if self._refuse(client_of(request), token_of(request) or None) is not None:
                watcher.close()

    def close(self) -> None:
        """End all watchers, as the server stops."""
        for watcher in self._watchers:
            watcher.close()

    async def _poll(self, watcher: Watcher, asked: _WatchRequest) -> web.Response:
        if asked.after is not None:
            await watcher.wait(asked.seconds)
        changes, revision = watcher.take(), watcher.revision()
        value = {
            "revision": revision,
            "changes": list(map(self._json, changes or ())),
            "gone": changes is None,
        }
        return web.Response(
            status=410 if changes is None else 200,
            body=msgspec.json.encode(value),
            content_type="application/json",
            headers={} if revision is None else {REVISION_HEADER: revision},
        )

    async def _stream(
        self, request: web.BaseRequest, watcher: Watcher, *, is_resumed: bool
    ) -> web.StreamResponse:
        begin = watcher.revision()  # before any wait: the stream sends each later change
        response = stream_answer({**_STREAM_HEADERS, REVISION_HEADER: begin or ""})
        try:
            await response.prepare(request)
        except ConnectionError:  # the peer has left
            return response
        # Without an id if changes from before it come next: a client that loses its connection in between has
        # to get those again.
        event = _event("ready", begin, has_id=not is_resumed)
        while not watcher.is_closed:
            if not await _write(request, response, event):
                break
            await watcher.wait(BEAT_SECONDS)
            event = self._events(watcher)
        return response

    def _events(self, watcher: Watcher) -> bytes:
        changes = watcher.take()
        if changes is None:
            return _event("gone", watcher.revision())
        return b"".join(map(self._change_event, changes)) or b":\n\n"

    def _change_event(self, change: WatchedChange) -> bytes:
        return _event("change", change.revision, self._json(change))

    def _json(self, change: WatchedChange) -> msgspec.Raw:
        kept = self._encoded.get(id(change))
        if kept is None:
            if len(self._encoded) >= ENCODED_KEPT:
                del self._encoded[next(iter(self._encoded))]
            kept = self._encoded[id(change)] = change, msgspec.Raw(msgspec.json.encode(change))
        return kept[1]


def _checked(request: web.BaseRequest) -> _WatchRequest | str:
    """The checked request, or a line that names its fault."""
    query = request.query
    topics = frozenset(query.getall("topic", []))
    # A browser that connects again still has the first `after` in its URL.
    after = request.headers.get("Last-Event-ID") or query.get("after") or None
    if not topics or "" in topics:
        return "say which topics: /watch?topic=A&topic=B"
    if len(topics) > TOPICS_LIMIT:
        return f"{len(topics)} topics are too many for one watcher; {TOPICS_LIMIT} are allowed"
    try:
        seconds = float(query.get("seconds", POLL_SECONDS))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= POLL_SECONDS_LIMIT:
        return f"seconds must be between 0 and {POLL_SECONDS_LIMIT}"
    return _WatchRequest(topics, after, seconds)


async def _write(request: web.BaseRequest, response: web.StreamResponse, data: bytes) -> bool:
    """Send bytes; return whether they went out in time."""
    transport = request.transport
    try:
        if transport is not None and not transport.get_write_buffer_size() and len(data) <= AT_ONCE_BYTES:
            await response.write(data)  # this does not wait; a time limit would cost as much as the rest
        else:
            async with asyncio.timeout(WRITE_SECONDS):
                await response.write(data)
    except (TimeoutError, ConnectionError):
        return False
    return True


def _event(kind: str, revision: str | None, value: object = None, *, has_id: bool = True) -> bytes:
    data = msgspec.json.encode({"revision": revision} if value is None else value)
    identified = b"id: %b\n" % (revision or "").encode() if has_id else b""
    return b"event: %b\n%bdata: %b\n\n" % (kind.encode(), identified, data)


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text + "\n")
