"""Signals stop a server in order, however often they come; SIGHUP may reload files; others do no harm."""

import contextlib
import faulthandler
import signal
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

__all__ = [
    "HARMLESS_SIGNALS",
    "STOP_SIGNALS",
    "ignore_harmless_signals",
    "run_until_stopped",
    "start_with_signals",
    "stopping_by_signals",
]

STOP_SIGNALS = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGPWR", "SIGXCPU")
    if hasattr(signal, name)
)
"""A container host sends SIGPWR to stop, the kernel SIGXCPU at a limit, and a terminal that closes SIGHUP."""

HARMLESS_SIGNALS = tuple(
    number
    for number in sorted(signal.valid_signals())
    if number in range(int(getattr(signal, "SIGRTMIN", 65)), 65)
    or getattr(number, "name", "")
    in {"SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO", "SIGPOLL", "SIGSTKFLT", "SIGPIPE"}
)
"""Signals that end a process by default, at once. Scripts of other programs use them to reload or report."""


def ignore_harmless_signals() -> None:
    """Ignore the signals that would end the process without an orderly stop; SIGQUIT prints all stacks.

    A JVM does the same: operators send SIGQUIT for a thread dump.
    """
    for number in HARMLESS_SIGNALS:
        with contextlib.suppress(OSError, ValueError):  # the C library keeps some for itself
            signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, _show_stacks)


def start_with_signals() -> None:
    """Before all other imports: signals do no harm, and Ctrl-C ends the start without a traceback."""
    ignore_harmless_signals()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to reload
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def stopping_by_signals(
    stop: Callable[[], object], *, reload: Callable[[], object] | None = None
) -> Iterator[None]:
    """Inside, a signal calls `stop` on the running loop; after it, the process ignores these signals.

    SIGHUP calls `reload` instead, if it is given. Otherwise a process that was started by `nohup` goes on.
    Other signals do no harm from now on.

    `loop.add_signal_handler` can't be used: a loop that removes its handlers sets the system's default for a
    moment. A signal in that moment kills the process before it has written its files.

    Raises:
        ValueError: not called from the main thread.
    """
    import asyncio  # it takes most of the time in which a starting server would not ignore signals

    loop = asyncio.get_running_loop()

    def stops(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop)

    def reloads(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(reload or stop)

    has_nohup = reload is None and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    ignore_harmless_signals()
    with _awake(loop):
        for number in STOP_SIGNALS:
            if number != signal.SIGHUP:
                signal.signal(number, stops)
            elif not has_nohup:
                signal.signal(number, reloads)
        try:
            yield
        finally:
            for number in STOP_SIGNALS:
                _ignore(number)


async def run_until_stopped(*coroutines: "Coroutine[object, object, object]") -> None:
    """Run coroutines until a signal stops the process, or until one of them ends; then cancel the others.

    Raises:
        Exception: what ended one of them.
    """
    import asyncio

    stop = asyncio.Event()
    with stopping_by_signals(stop.set):
        stopped = asyncio.create_task(stop.wait())
        running = [asyncio.create_task(each) for each in coroutines]
        done, _ = await asyncio.wait((*running, stopped), return_when=asyncio.FIRST_COMPLETED)
        for task in (*running, stopped):
            task.cancel()
        await asyncio.gather(*running, stopped, return_exceptions=True)
    for task in done:
        task.result()


def _show_stacks(_number: int, _frame: FrameType | None) -> None:
    """Print the stacks of all threads, while no other thread runs code of Python.

    `faulthandler.register` prints them at once. It reads stacks while other threads change them, and one of
    some thousand signals ended a busy process.
    """
    with contextlib.suppress(RuntimeError, OSError, AttributeError, ValueError):  # there is no stderr
        faulthandler.dump_traceback(all_threads=True)


def _ignore(number: signal.Signals) -> None:
    """Ignore it from now on, for the system first.

    While Python gives up its function for a signal, the system still delivers one; Python then has no
    function for it and prints a traceback ("ignored due to race condition").
    """
    import ctypes  # the import takes some ms, which would come before a server listens

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).signal(int(number), ctypes.c_void_p(signal.SIG_IGN))
    signal.signal(number, signal.SIG_IGN)  # after Python has handled the earlier signals


@contextlib.contextmanager
def _awake(loop: "asyncio.AbstractEventLoop") -> Iterator[None]:
    """Make a signal wake the loop: uvloop does so itself, asyncio's own loop only for its own handlers."""
    import socket

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
