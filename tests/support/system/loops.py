"""Which event loops a test runs on."""

import pytest

__all__ = ["both_loops"]

both_loops = pytest.mark.parametrize(
    "anyio_backend",
    [
        pytest.param(("asyncio", {"debug": True}), id="asyncio"),
        pytest.param(("asyncio", {"debug": True, "use_uvloop": True}), id="uvloop"),
    ],
)
"""Run an async test on asyncio's own loop and on uvloop: their transports differ in corners."""
