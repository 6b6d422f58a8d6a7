"""Which event loops a test runs on."""

import asyncio
import selectors
from typing import Any

import pytest
import uvloop

__all__ = ["CHECKED", "CheckedUvloop", "both_loops", "leap", "leaping_time", "virtual_time"]


class _Checked:
    """Have a loop in debug mode check its calls, without notes of the stack that made each future and callback.

    The notes are made wherever `get_debug` is true. With them, tests of a server take much more of a processor.
    """

    def get_debug(self) -> bool:
        """Make no notes; the checks ask no method."""
        return False


class CheckedLoop(_Checked, asyncio.SelectorEventLoop):
    """The loop of asyncio, also by name: a server states its loop by the module."""

    __module__ = asyncio.SelectorEventLoop.__module__


class CheckedUvloop(_Checked, uvloop.Loop):  # type: ignore[misc]  # the types that it states are not asyncio's
    """The loop of uvloop, also by name."""

    __module__ = uvloop.Loop.__module__


CHECKED: tuple[str, dict[str, Any]] = ("asyncio", {"debug": True, "loop_factory": CheckedLoop})
"""What anyio runs an async test on."""


both_loops = pytest.mark.parametrize(
    "anyio_backend",
    [
        pytest.param(CHECKED, id="asyncio"),
        pytest.param(("asyncio", {"debug": True, "loop_factory": CheckedUvloop}), id="uvloop"),
    ],
)
"""Run an async test on asyncio's own loop and on uvloop: their transports differ in corners."""


class _Jumping(selectors.DefaultSelector):
    """Has time pass at once where the loop would wait for it."""

    seconds = 0.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(0 if timeout is not None else None)
        if not found and timeout is not None:
            self.seconds += max(timeout, 0)
        return found


class VirtualLoop(CheckedLoop):
    """A loop whose time passes only when nothing is left to do: a busy machine makes nothing late."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """The seconds that passed in the loop."""
        return self._jumping.seconds


virtual_time = pytest.mark.parametrize(
    "anyio_backend", [pytest.param(("asyncio", {"debug": True, "loop_factory": VirtualLoop}), id="virtual")]
)
"""Run an async test in time that jumps: for limits of parts that talk to no socket, process or thread."""


class LeapingLoop(CheckedLoop):
    """A loop of real time that a test can put forward, so that a limit passes when nothing else is to happen."""

    leapt_seconds = 0.0

    def time(self) -> float:
        """The seconds of the real clock, and those that were leapt over."""
        return super().time() + self.leapt_seconds


leaping_time = pytest.mark.parametrize(
    "anyio_backend", [pytest.param(("asyncio", {"debug": True, "loop_factory": LeapingLoop}), id="leaping")]
)
"""Run an async test on a loop whose time `leap` puts forward: for limits of parts that talk to sockets."""


def leap(seconds: float) -> None:
    """Put the time of the running loop forward: every limit of so many seconds that runs now has passed."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, LeapingLoop)
    loop.leapt_seconds += seconds
