"""Answers of the handlers that only read, made whole."""

from namekeeper.common.slices import run_slices
from namekeeper.processor.dispatch import LISTERS, READERS
from namekeeper.processor.outcome import Sliced
from namekeeper.processor.state import NameServerState
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["is_read", "read", "whole"]


def is_read(code: int) -> bool:
    """Whether requests of this code only read."""
    return code in READERS or code in LISTERS


def read(state: NameServerState, request: RemotingCommand) -> Response:
    """The answer to such a request; a wrong one raises RequestError."""
    if request.code in LISTERS:
        return run_slices(LISTERS[request.code](state, request))
    answer = whole(READERS[request.code](state, request))
    assert answer is not None
    return answer


def whole(answer: Response | Sliced | None) -> Response | None:
    """An answer with all its slices made, one after the other."""
    return run_slices(answer.make()) if isinstance(answer, Sliced) else answer
