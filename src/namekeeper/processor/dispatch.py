"""Request code -> handler by the way in which it answers, and the answers that need no handler."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from namekeeper.messages.catalogue import CATALOGUE, Handling
from namekeeper.messages.routing import wants_standard_json
from namekeeper.processor import kv, registration, routing, settings, topics  # noqa: F401 - they fill HANDLERS
from namekeeper.processor.handlers import HANDLERS, Changer, Lister, Reader
from namekeeper.processor.outcome import Sliced
from namekeeper.processor.state import NameServerState
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = [
    "CHANGERS",
    "LISTERS",
    "READERS",
    "go_away",
    "not_supported",
    "sliced",
    "unless_leaving",
]


def _handlers(*handlings: Handling) -> dict[int, Any]:
    return {int(code): handler for code, handler in HANDLERS.items() if CATALOGUE[code].handling in handlings}


READERS: Mapping[int, Reader] = _handlers(Handling.READ, Handling.LARGE_READ)
LISTERS: Mapping[int, Lister] = _handlers(Handling.LIST)
CHANGERS: Mapping[int, Changer] = _handlers(Handling.CHANGE)

GO_AWAY_SINCE = 475
"""Requesters newer than 5.3.1 understand GO_AWAY (protocol.md 1.8)."""


def go_away(state: NameServerState, request: RemotingCommand) -> Response | None:
    """The answer of a server that is about to stop, for requesters that understand it."""
    if state.settings.enable_shutdown_gracefully and request.version > GO_AWAY_SINCE:
        return Response(ResponseCode.GO_AWAY, "please go away")
    return None


def not_supported(request: RemotingCommand) -> Response:
    """The answer to a code without a handler; the leading space is Java's (protocol.md 1.8)."""
    return Response(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f" request type {request.code} not supported")


def sliced(lister: Lister, state: NameServerState, request: RemotingCommand) -> Sliced:
    """The answer of a lister; requests for the same list in the same form of JSON share one."""
    cluster = (request.ext_fields or {}).get("cluster", "")
    key = (request.code, cluster, wants_standard_json(request.version))
    return Sliced(key, partial(lister, state, request))


def unless_leaving(reader: Reader) -> Reader:
    """The same reader, except that a server that is leaving answers GO_AWAY to clients that understand it."""
    return lambda state, request: go_away(state, request) or reader(state, request)
