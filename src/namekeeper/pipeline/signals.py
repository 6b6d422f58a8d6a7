"""Lets SIGTERM and SIGHUP end a run as Ctrl-C does, so that it gives up its lease.

Python handles a signal when the call that the main thread is in returns. A call to a store that does not
answer returns after minutes, and systemd or Kubernetes would kill the process before. So a thread, which sees
a signal at once, ends the process some seconds later.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

__all__ = ["EndingSignal", "interrupted_by_signals"]

GRACE_SECONDS = 20.0
"""Kubernetes kills 30 s after SIGTERM."""

_SIGNALLED = 128
"""Exit codes after a signal, as in shells, are this and the number of the signal."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_ENDING = frozenset({signal.SIGINT, *_SIGNALS})


class EndingSignal:
    """The signal that has ended a run; Ctrl-C unless another one came."""

    def __init__(self) -> None:
        self._number = signal.SIGINT

    @property
    def exit_code(self) -> int:
        """Exit code of a program that this signal has ended."""
        return _SIGNALLED + self._number

    def take(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal; further ones are ignored, because the run is ending already.

        Raises:
            KeyboardInterrupt: The first time.
        """
        if self._number != signal.SIGINT:
            return
        self._number = signal.Signals(number)
        at_interrupt = signal.getsignal(signal.SIGINT)
        if callable(at_interrupt):
            # Spark's handler cancels its jobs. Its Java may be dead: systemd sends it SIGTERM too.
            with suppress(Exception):
                at_interrupt(signal.SIGINT, frame)
        raise KeyboardInterrupt


@contextmanager
def interrupted_by_signals(at_late_end: Callable[[], None]) -> Iterator[EndingSignal]:
    """Raise KeyboardInterrupt in the block at SIGTERM or SIGHUP.

    A signal that is ignored stays so. Elsewhere than in the main thread, signals are left alone.

    Args:
        at_late_end: Called by a thread if the block has not ended within a grace time after a signal, before
            it ends the process.
    """
    interruption = EndingSignal()
    before = {}
    with _ended_in_time(at_late_end):
        try:
            for number in _SIGNALS:
                if signal.getsignal(number) != signal.SIG_IGN:
                    with suppress(ValueError):  # not the main thread
                        before[number] = signal.signal(number, interruption.take)
            yield interruption
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def _ended_in_time(at_late_end: Callable[[], None]) -> Iterator[None]:
    """End the process if the block takes longer than the grace time after a signal."""
    reader, writer = socket.socketpair()
    has_ended = threading.Event()
    with reader, writer:
        writer.settimeout(0)  # as set_wakeup_fd asks for
        try:
            before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        except ValueError:  # not the main thread
            yield
            return
        watcher = threading.Thread(
            target=_end_late, args=(reader, has_ended, at_late_end), name="signals", daemon=True
        )
        watcher.start()
        try:
            yield
        finally:
            has_ended.set()
            signal.set_wakeup_fd(before)
            writer.close()
            watcher.join()


def _end_late(reader: socket.socket, has_ended: threading.Event, at_late_end: Callable[[], None]) -> None:
    while seen := reader.recv(1):
        if seen[0] in _ENDING and not has_ended.wait(GRACE_SECONDS):
            with suppress(Exception):
                at_late_end()
            os._exit(_SIGNALLED + seen[0])
