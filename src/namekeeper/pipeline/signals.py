"""Lets SIGTERM and SIGHUP end a run as Ctrl-C does, so that it gives up its lease."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

__all__ = ["EndingSignal", "interrupted_by_signals"]

_SIGNALLED = 128
"""Exit codes after a signal, as in shells, are this and the number of the signal."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


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
def interrupted_by_signals() -> Iterator[EndingSignal]:
    """Raise KeyboardInterrupt in the block at SIGTERM or SIGHUP.

    A signal that is ignored stays so. Elsewhere than in the main thread, signals are left alone.
    """
    interruption = EndingSignal()
    before = {}
    try:
        for number in _SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                with suppress(ValueError):  # not the main thread
                    before[number] = signal.signal(number, interruption.take)
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
