"""Fixtures of tests in one process."""

import signal
from collections.abc import Iterator

import pytest

from namekeeper.app.stop_signals import STOP_SIGNALS


@pytest.fixture(autouse=True)
def stop_signals_put_back() -> Iterator[None]:
    """A server ends with its process and leaves the signals ignored; a test's process goes on."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
