"""How much a call does, without a clock."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__all__ = ["lines_run"]


def lines_run(call: Callable[[], object]) -> int:
    """Number of lines of Python that run within a call, which has a thread of its own.

    The tracer of this thread stays: coverage may have one.
    """
    count = 0

    def trace(_frame: FrameType, event: str, _arg: object) -> "TraceFunction":
        nonlocal count
        count += event == "line"
        return trace

    def run() -> None:
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(None)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()
    return count
