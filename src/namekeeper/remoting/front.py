"""Sockets that are lent to the front, threads that answer look-ups of known topics beside the interpreter.

A connection whose requests are all look-ups lends its socket. The front answers on it until something
else comes. Then it returns the socket, with the bytes that it read and did not serve, and the answers that
the peer did not take. So every limit, every other request and every end of a connection is handled by
`ServerConnection`, as if it had read those bytes itself.
"""

import asyncio
import itertools
import logging
import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, Protocol, cast

from namekeeper.lookup_cache.front_store import FrontStore
from namekeeper.route.channel import ClosedBy
from namekeeper.wire.codec import BARE_SUCCESS_HEAD, BARE_SUCCESS_TAIL

__all__ = ["INTERFACE", "Borrower", "Front", "NativeFront", "Returned", "load_front"]


log = logging.getLogger("namekeeper.remoting")

INTERFACE = 6
"""The calls of `namekeeper_front` that this module uses; the package has the same number."""
MOST_THREADS = 4
"""One thread answers some 150,000 look-ups a second: more than four are for who asks for them."""
LOANS_ENDED_AT_ONCE = 16
"""More than one, because finding those that have been quiet the longest goes over all of them."""


class Returned(NamedTuple):
    """A socket that the front has returned."""

    loan: int
    unread: bytes
    """Bytes that were read and not served."""
    unsent: bytes
    """Answers that were not written."""
    bytes_in: int
    bytes_out: int
    """Bytes that were written; `unsent` is not among them."""
    is_broken: bool
    """Whether the front failed: then it is not known what was read or written."""


class NativeFront(FrontStore, Protocol):
    """The methods of `namekeeper_front.Front` besides the store's; to be called from the loop only."""

    def fileno(self) -> int:
        """A descriptor that becomes readable when sockets were returned."""
        ...

    def lend(self, loan: int, descriptor: int) -> None:
        """Serve a socket until it is returned; OSError if that can't be."""
        ...

    def take_back(self, loan: int) -> tuple[int, bytes, bytes, int, int, bool] | None:
        """End a loan now; the fields of `Returned`, or None if there is no such loan."""
        ...

    def take_returned(self) -> list[tuple[int, bytes, bytes, int, int, bool]]:
        """The sockets that were returned since the last call."""
        ...

    def take_moved(self) -> list[tuple[int, int, int]]:
        """(loan, bytes in, bytes out) of each socket with traffic since the last call."""
        ...

    def panics(self) -> int:
        """Number of failures of the front; each cost one connection."""
        ...

    def stop(self) -> None:
        """Return every socket and end."""
        ...


class Borrower(Protocol):
    """A connection whose socket is lent."""

    def returned(self, returned: Returned) -> None:
        """Go on with the socket; called from the loop, not from inside a call of `Front`."""
        ...

    def moved(self, bytes_in: int, bytes_out: int) -> None:
        """Note the traffic since the socket was lent."""
        ...

    def end_loan(self) -> None:
        """Take the socket back and go on with it; called from the loop, as `returned` is."""
        ...

    def abort(self, why: ClosedBy) -> None:
        """Close at once."""
        ...


class Front:
    """The loans of one server; touched from its loop only.

    A lent socket takes a second descriptor. Connections and files come first: when descriptors get scarce,
    the loans end that have been quiet the longest.
    """

    def __init__(self, native: NativeFront) -> None:
        self._native = native
        self._loans: dict[int, Borrower] = {}
        """Those that have been quiet the longest come first."""
        self._numbers = itertools.count(1)
        self.loans = 0
        """Number of loans so far."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._descriptors: Callable[[], int]
        self._is_ending_some = False

    def __len__(self) -> int:
        """Count the sockets that are lent."""
        return len(self._loans)

    @property
    def store(self) -> FrontStore:
        """What the front answers."""
        return self._native

    @property
    def failures(self) -> int:
        """Connections lost by a failure of the front."""
        return self._native.panics()

    def start(self, descriptors: Callable[[], int]) -> None:
        """Begin to receive returned sockets; `descriptors` says how many are left for more loans."""
        self._descriptors = descriptors
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._native.fileno(), self._take_returned)

    def lend(self, borrower: Borrower, descriptor: int) -> int:
        """Lend a socket from which nobody reads; return the number of the loan, 0 if it can't be lent."""
        if not self.keep_descriptors_free():
            return 0
        loan = next(self._numbers)
        try:
            self._native.lend(loan, descriptor)
        except OSError:  # other processes have the descriptors: we serve it ourselves
            return 0
        self.loans += 1
        self._loans[loan] = borrower
        return loan

    def take_back(self, loan: int) -> Returned | None:
        """End a loan now; None if it has ended."""
        self._loans.pop(loan, None)
        found = self._native.take_back(loan)
        return None if found is None else Returned(*found)

    def keep_descriptors_free(self) -> bool:
        """Return whether there is room for one more loan; if not, some end in the next turn of the loop."""
        if self._descriptors() > 0:
            return True
        if self._loans and not self._is_ending_some and self._loop is not None:
            self._is_ending_some = True
            self._loop.call_soon(self._end_some)
        return False

    def note_moved(self) -> None:
        """Tell each lent connection its traffic."""
        for loan, bytes_in, bytes_out in self._native.take_moved():
            borrower = self._loans.pop(loan, None)
            if borrower is not None:
                self._loans[loan] = borrower
                borrower.moved(bytes_in, bytes_out)

    def close(self) -> None:
        """End every loan and the threads; may be called twice."""
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
    """Start the front if it is installed and fits to this machine and this version; else return None.

    Args:
        threads: how many; 0: as many as there are cores, less one for the interpreter, but not more than
            `MOST_THREADS`.
    """
    try:
        module: Any = import_module("namekeeper_front")
    except ImportError as error:
        if not isinstance(error, ModuleNotFoundError) or error.name != "namekeeper_front":
            # It is installed, and its library is missing, or of another machine or libc.
            log.warning("the installed namekeeper-front can't be loaded, so it is not used: %s", error)
        return None
    if getattr(module, "INTERFACE", 1) != INTERFACE:
        log.warning("the installed namekeeper-front is of another version than this server: it is not used")
        return None
    return Front(
        cast("NativeFront", module.Front(BARE_SUCCESS_HEAD, BARE_SUCCESS_TAIL, threads or _threads()))
    )


def _threads() -> int:
    return max(1, min(MOST_THREADS, (os.cpu_count() or 1) - 1))
