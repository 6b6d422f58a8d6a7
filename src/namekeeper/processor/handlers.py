"""The kinds of handlers, and `handles`, by which a function states the request code that it handles."""

from collections.abc import Callable, Generator
from typing import TypeVar

from namekeeper.model.now import Now
from namekeeper.processor.outcome import Deferred, Outcome, Sliced
from namekeeper.processor.state import NameServerState
from namekeeper.route.channel import Channel
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["HANDLERS", "Changer", "Lister", "Reader", "handles"]

Reader = Callable[[NameServerState, RemotingCommand], Response | Sliced]
"""Answers from the current state, at once or incrementally, and changes nothing; raises RequestError for an
error code."""

Lister = Callable[[NameServerState, RemotingCommand], Generator[None, None, Response]]
"""A reader that examines every topic or broker, incrementally: the server handles other requests in between.
"""

Changer = Callable[[NameServerState, RemotingCommand, Channel, Now], Outcome | Deferred]
"""Changes the state, at once or incrementally; raises RequestError for an error code."""

HANDLERS: dict[RequestCode, Reader | Lister | Changer] = {}
"""Request code -> the function that answers it; its kind follows from `CatalogueEntry.handling`. The table is
complete when `dispatch` is imported, which imports every module with handlers."""

Handler = TypeVar("Handler", bound=Reader | Lister | Changer)


def handles(code: RequestCode) -> Callable[[Handler], Handler]:
    """Enter the decorated function as the handler of a request code.

    Raises:
        ValueError: The code has a handler.
    """

    def enter(handler: Handler) -> Handler:
        if code in HANDLERS:
            raise ValueError(f"{code.name} has two handlers")
        HANDLERS[code] = handler
        return handler

    return enter
