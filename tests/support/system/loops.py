"""Which event loops a test runs on."""

import asyncio
import selectors
from typing import Any

import pytest

__all__ = ["both_loops", "virtual_time"]

both_loops = pytest.mark.parametrize(
    "anyio_backend",
    [
        pytest.param(("asyncio", {"debug": True}), id="asyncio"),
        pytest.param(("asyncio", {"debug": True, "use_uvloop": True}), id="uvloop"),
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


class VirtualLoop(asyncio.SelectorEventLoop):
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
