"""The current time is two numbers (docs/decisions/0015)."""

import pytest

from namekeeper.model.now import Now


def test_wall_and_monotonic_time_are_apart():
    now = Now(wall_ms=1_700_000_000_000, mono_ms=5)
    assert (now.wall_ms, now.mono_ms) == (1_700_000_000_000, 5)


def test_an_instant_does_not_pass():
    now = Now(1, 2)
    with pytest.raises(AttributeError):
        now.mono_ms = 3
