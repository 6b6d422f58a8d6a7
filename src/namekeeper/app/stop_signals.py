"""SIGTERM and SIGINT end a server in order, however often they come, until the process has gone."""

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["STOP_SIGNALS", "stopping_by_signals"]

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def stopping_by_signals(stop: Callable[[], object]) -> Iterator[None]:
    """Within, a signal calls `stop` on the running loop; afterwards the process ignores both until its end.

    `loop.add_signal_handler` is no way to do it: a loop that takes its handlers away sets the system's
    default for a moment, and a signal in that moment kills the process before it has written what it has to.

    Raises:
        ValueError: not called from the main thread.
    """
    loop = asyncio.get_running_loop()

    def stops(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop)

    with _awake(loop):
        for number in STOP_SIGNALS:
            signal.signal(number, stops)
        try:
            yield
        finally:
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _awake(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """A signal wakes the loop: uvloop sees to it, asyncio's own loop only for handlers of its own."""
    receiving, sending = socket.socketpair()
    with receiving, sending:
        sending.settimeout(0)
        before = signal.set_wakeup_fd(sending.fileno(), warn_on_full_buffer=False)
        if before == -1:
            loop.add_reader(receiving, receiving.recv, 4_096)
        else:
            signal.set_wakeup_fd(before, warn_on_full_buffer=False)
        try:
            yield
        finally:
            if before == -1:
                signal.set_wakeup_fd(before)
                loop.remove_reader(receiving)
