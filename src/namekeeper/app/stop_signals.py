"""SIGTERM and SIGINT stop a server in order, however often they are sent."""

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
    """Inside, a signal calls `stop` on the running loop; after it, the process ignores both signals.

    `loop.add_signal_handler` can't be used: when a loop removes its handlers, the system's default is set for
    a moment, and a signal in that moment kills the process before its files are written.

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
                _ignore(number)


def _ignore(number: signal.Signals) -> None:
    """Ignore it from now on, for the system first.

    While Python gives up its function for a signal, the system still delivers one; Python then has no
    function for it and prints a traceback ("ignored due to race condition").
    """
    import ctypes  # the import takes some ms, which would come before a server listens

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).signal(int(number), ctypes.c_void_p(signal.SIG_IGN))
    signal.signal(number, signal.SIG_IGN)  # after what came so far has been handled


@contextlib.contextmanager
def _awake(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Make a signal wake the loop: uvloop does so itself, asyncio's own loop only for its own handlers."""
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
