"""Sockets of the native fast path: threads that answer lookups of cached topics beside the interpreter.

A connection whose requests are all lookups hands its socket off. The native threads answer on it until
another request comes. Then they return the socket, with the bytes that they read and did not process, and the
answers that the peer did not take. So `ServerConnection` handles every limit, every other request and every
end of a connection, as if it had read those bytes itself.
"""

import asyncio
import itertools
import logging
import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from namekeeper import __version__
from namekeeper.lookup_cache.answer_store import FrontStore
from namekeeper.route.channel import ClosedBy
from namekeeper.wire.codec import BARE_SUCCESS_HEAD, BARE_SUCCESS_TAIL

__all__ = ["Borrower", "Front", "NativeFront", "Returned", "load_front"]


log = logging.getLogger("namekeeper.remoting")

MOST_THREADS = 4
"""One thread answers about 150,000 lookups a second: more than four are for the clients."""
LOANS_ENDED_AT_ONCE = 16
"""More than one, because a search for the quietest goes over all handed-off sockets."""


class Returned(NamedTuple):
    """A socket that the native fast path has returned."""

    loan: int
    unread: bytes
    """Bytes that were read and not processed."""
    unsent: bytes
    """Answers that were not written."""
    bytes_in: int
    bytes_out: int
    """Bytes that were written; `unsent` is not among them."""
    is_broken: bool
    """Whether the native fast path failed: then the read and written bytes are unknown."""


class NativeFront(FrontStore, Protocol):
    """The methods of `namekeeper_front.Front` besides the store's; to be called from the loop only.

    `native/namekeeper_front.pyi` has the types of the module; mypy compares them with these.
    """

    def fileno(self) -> int:
        """A descriptor that becomes readable when sockets were returned."""
        ...

    def lend(self, loan: int, descriptor: int) -> None:
        """Take a socket over until it is returned; raise OSError if that is impossible."""
        ...

    def take_back(self, loan: int) -> tuple[int, bytes, bytes, int, int, bool] | None:
        """Take a socket back now: the fields of `Returned`, or None if it is not handed off."""
        ...

    def take_returned(self) -> list[tuple[int, bytes, bytes, int, int, bool]]:
        """The sockets that were returned since the last call."""
        ...

    def take_moved(self) -> list[tuple[int, int, int]]:
        """(hand-off number, bytes in, bytes out) of each socket with traffic since the last call."""
        ...

    def panics(self) -> int:
        """Number of failures of the native fast path; each cost one connection."""
        ...

    def stop(self) -> None:
        """Return every socket and end."""
        ...


class Borrower(Protocol):
    """A connection with a handed-off socket."""

    def returned(self, returned: Returned) -> None:
        """Go on with the socket; called from the loop, not from inside a call of `Front`."""
        ...

    def moved(self, bytes_in: int, bytes_out: int) -> None:
        """Note the traffic since the hand-off."""
        ...

    def end_loan(self) -> None:
        """Take the socket back and go on with it; called from the loop, as `returned` is."""
        ...

    def abort(self, why: ClosedBy) -> None:
        """Close at once."""
        ...


class Front:
    """The handed-off sockets of one server; touched from its loop only.

    A handed-off socket takes a second descriptor. Connections and files come first: when descriptors get
    scarce, the sockets that have been quiet for longest return to the event loop.
    """

    def __init__(self, native: NativeFront) -> None:
        self._native = native
        self._loans: dict[int, Borrower] = {}
        """The sockets that have been quiet for longest come first."""
        self._numbers = itertools.count(1)
        self.loans = 0
        """Number of hand-offs so far."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._descriptors: Callable[[], int]
        self._is_ending_some = False

    def __len__(self) -> int:
        """Count the handed-off sockets."""
        return len(self._loans)

    @property
    def store(self) -> FrontStore:
        """The answers of the native fast path."""
        return self._native

    @property
    def failures(self) -> int:
        """Connections lost by a failure of the native fast path."""
        return self._native.panics()

    def start(self, descriptors: Callable[[], int]) -> None:
        """Start to receive returned sockets; `descriptors` returns the number left for more hand-offs."""
        self._descriptors = descriptors
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._native.fileno(), self._take_returned)

    def lend(self, borrower: Borrower, descriptor: int) -> int:
        """Hand off a socket with reading paused; return the number of the hand-off, 0 on failure."""
        if not self.keep_descriptors_free():
            return 0
        loan = next(self._numbers)
        try:
            self._native.lend(loan, descriptor)
        except OSError:  # other processes have the descriptors: the event loop keeps the socket
            return 0
        self.loans += 1
        self._loans[loan] = borrower
        return loan

    def take_back(self, loan: int) -> Returned | None:
        """Take a socket back now; None if it has returned."""
        self._loans.pop(loan, None)
        found = self._native.take_back(loan)
        return None if found is None else Returned(*found)

    def keep_descriptors_free(self) -> bool:
        """Return whether one more socket may be handed off; if not, some return in the next iteration."""
        if self._descriptors() > 0:
            return True
        if self._loans and not self._is_ending_some and self._loop is not None:
            self._is_ending_some = True
            self._loop.call_soon(self._end_some)
        return False

    def note_moved(self) -> None:
        """Report the traffic of each handed-off connection to it."""
        for loan, bytes_in, bytes_out in self._native.take_moved():
            borrower = self._loans.pop(loan, None)
            if borrower is not None:
                self._loans[loan] = borrower
                borrower.moved(bytes_in, bytes_out)

    def close(self) -> None:
        """Take every socket back and end the threads; may be called twice."""
        if self._loop is not None:
            self._loop.remove_reader(self._native.fileno())
            self._loop = None
        self._native.stop()
        self._take_returned()

    def _end_some(self) -> None:
        self._is_ending_some = False
        self.note_moved()
        count = LOANS_ENDED_AT_ONCE - self._descriptors()
        for borrower in tuple(itertools.islice(self._loans.values(), max(0, count))):
            self._go_on(borrower, borrower.end_loan)

    def _take_returned(self) -> None:
        for found in self._native.take_returned():
            returned = Returned(*found)
            borrower = self._loans.pop(returned.loan, None)
            if borrower is not None:
                self._go_on(borrower, partial(borrower.returned, returned))

    def _go_on(self, borrower: Borrower, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception:  # a bug with one connection must not stop the others
            log.exception("a socket came back, and its connection failed")
            borrower.abort(ClosedBy.FRONT)


def load_front(threads: int = 0) -> Front | None:
    """Load the native fast path if it is installed and fits this machine and version; else return None.

    Args:
        threads: number of threads; 0: the number of cores, less one for the interpreter, but at most
            `MOST_THREADS`.
    """
    try:
        import namekeeper_front  # optional
    except ImportError as error:
        if not isinstance(error, ModuleNotFoundError) or error.name != "namekeeper_front":
            # It is installed, and its library is missing, or of another machine or libc.
            log.warning("the installed namekeeper-front can't be loaded, so it is not used: %s", error)
        return None
    if getattr(namekeeper_front, "__version__", "") != __version__:
        log.warning("the installed namekeeper-front is of another version than this server: it is not used")
        return None
    return Front(namekeeper_front.Front(BARE_SUCCESS_HEAD, BARE_SUCCESS_TAIL, threads or _threads()))


def _threads() -> int:
    return max(1, min(MOST_THREADS, (os.cpu_count() or 1) - 1))
