"""Waiting for facts, never for durations."""

import asyncio
import os
from collections.abc import Callable

__all__ = ["PATIENCE", "TIME_UNIT", "eventually", "turns"]

TIME_UNIT = float(os.environ.get("NAMEKEEPER_TEST_PATIENCE", "1"))
"""Stretches every deadline of the tests; set it where machines are slow."""

PATIENCE = 10 * TIME_UNIT
"""Waits end when what they wait for is there; this often what an idle machine may need, they give up."""


async def eventually(fact: Callable[[], object], *, within_seconds: float = 10.0) -> None:
    """Return as soon as `fact()` is true; fail with its text if it is not by far within the seconds."""
    deadline = asyncio.get_running_loop().time() + within_seconds * PATIENCE
    while not fact():
        if asyncio.get_running_loop().time() > deadline:
            raise AssertionError(f"did not come true within {within_seconds} s: {fact!r}")
        await asyncio.sleep(0.002)


async def turns(count: int = 5) -> None:
    """Let the loop run what is ready, and what that makes ready."""
    for _ in range(count):
        await asyncio.sleep(0)
