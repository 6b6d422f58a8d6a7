"""Routes on disk, so that a client can start while every name server is down."""

import asyncio
import logging
from collections.abc import Mapping

import xxhash
from msgspec import Struct, json

from namekeeper.errors import RequestError
from namekeeper.files import read_own_file, replace_own_file
from namekeeper.foreign_json import UNREADABLE_JSON
from namekeeper.messages.bodies import decode_topic_route, encode_topic_route
from namekeeper.model.route import TopicRouteData

__all__ = ["RouteDiskCache"]

TOPICS_LIMIT = 10_000
"""Most topics that are kept, the latest ones: a client that uses more starts with these."""
FILE_LIMIT = 64 * 1024 * 1024
"""Largest file that is read or written; 10,000 topics on 16 brokers take a third of it."""
_FORMAT = 1

_log = logging.getLogger("namekeeper.client")


class _SavedRoutes(Struct):
    format: int
    digest: str
    """Digest of the routes: a file that was cut off or changed is not used."""
    routes: dict[str, str]
    """Topic -> the answer of a name server."""


class RouteDiskCache:
    """The last known routes of a client in one file; a failure of the disk is logged, never raised."""

    def __init__(self, path: str) -> None:
        """Read nothing yet.

        Args:
            path: the file; empty: nothing is kept.
        """
        self._path = path
        self._routes: dict[str, str] = {}
        """Topic -> its encoded route, in the order of the last change."""
        self._is_changed = False
        self._is_failing = False

    async def load(self) -> None:
        """Read the file; one that can't be used is ignored with a warning."""
        if self._path:
            self._routes = await asyncio.to_thread(_read, self._path)

    def get(self, topic: str) -> TopicRouteData | None:
        """Return the last known route of a topic."""
        text = self._routes.get(topic)
        try:
            return None if text is None else decode_topic_route(text.encode())
        except RequestError as error:
            _log.warning("the saved route of topic %s can't be used: %s", topic, error.remark)
            return None

    def put(self, topic: str, route: TopicRouteData) -> None:
        """Keep a route; `save` writes it."""
        if not self._path:
            return
        self._routes.pop(topic, None)
        self._routes[topic] = encode_topic_route(route, standard=True).decode()
        if len(self._routes) > TOPICS_LIMIT:
            del self._routes[next(iter(self._routes))]
        self._is_changed = True

    async def save(self) -> None:
        """Write the file if a route has changed since the last time."""
        if not self._is_changed:
            return
        self._is_changed = False
        try:
            await asyncio.to_thread(_write, self._path, dict(self._routes))
        except OSError as error:
            self._is_changed = True
            if not self._is_failing:
                _log.warning("routes can't be saved in %s: %s", self._path, error.strerror or error)
            self._is_failing = True
        else:
            self._is_failing = False


def _read(path: str) -> dict[str, str]:
    try:
        data = read_own_file(path, limit=FILE_LIMIT)
        if data is None:
            return {}
        file = json.decode(data, type=_SavedRoutes)
    except (OSError, *UNREADABLE_JSON) as error:
        _log.warning("saved routes in %s can't be used: %s; they are written anew", path, error)
        return {}
    if file.format != _FORMAT or file.digest != _digest(file.routes):
        _log.warning("saved routes in %s can't be used: the file is damaged; they are written anew", path)
        return {}
    return file.routes


def _write(path: str, routes: dict[str, str]) -> None:
    data = json.encode(_SavedRoutes(_FORMAT, _digest(routes), routes))
    while len(data) > FILE_LIMIT:  # the oldest half goes until the rest can be read again
        for topic in list(routes)[: len(routes) // 2 + 1]:
            del routes[topic]
        data = json.encode(_SavedRoutes(_FORMAT, _digest(routes), routes))
    replace_own_file(path, data)


def _digest(routes: Mapping[str, str]) -> str:
    return xxhash.xxh3_128_hexdigest(json.encode(routes))
