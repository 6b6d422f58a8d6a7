"""Asks name servers: the chosen one first, the others when it fails or is slow (protocol.md 7.2).

One lookup has one deadline. After a failure the next name server is asked at once. A name server that does
not answer gets its share of the time left; then the next is asked too, and the first good answer counts.
So one dead name server of two costs time and no answer; Java's client fails instead.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from random import Random
from typing import Generic, TypeVar

from msgspec import Struct

from namekeeper.clock import Clock
from namekeeper.errors import NoNameServerError, RemotingError, RemotingTimeoutError
from namekeeper.model.now import Now

__all__ = ["Answered", "NameServers", "NamesrvChoice", "NamesrvStatus"]


class NamesrvChoice:
    """The list of name servers, and the one that is asked first; `rng` chooses the first one."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._counter = rng.randrange(999)
        self.addrs: tuple[str, ...] = ()
        """The addresses in a random order, so that clients spread over the name servers."""
        self.chosen: str | None = None

    def update(self, addrs: Iterable[str]) -> tuple[str, ...]:
        """Take a new list; return the addresses that are no longer in it.

        The same set in another order changes nothing, and an empty list is ignored, as in Java.
        """
        new = list(dict.fromkeys(addrs))
        if not new or set(new) == set(self.addrs):
            return ()
        removed = tuple(addr for addr in self.addrs if addr not in new)
        self._rng.shuffle(new)
        self.addrs = tuple(new)
        if self.chosen not in self.addrs:
            self.chosen = None
        return removed

    def candidates(self) -> tuple[str, ...]:
        """Return the chosen name server, then the others in order; choose one if none is chosen."""
        if not self.addrs:
            return ()
        if self.chosen is None:
            self._counter += 1
            self.chosen = self.addrs[self._counter % len(self.addrs)]
        first = self.addrs.index(self.chosen)
        return self.addrs[first:] + self.addrs[:first]

    def answered(self, addr: str) -> None:
        """Choose a name server that has answered."""
        if addr in self.addrs:
            self.chosen = addr

    def failed(self, addr: str) -> None:
        """Choose the next name server, unless another one is chosen already."""
        if addr == self.chosen:
            self._counter = self.addrs.index(addr) + 1
            self.chosen = self.addrs[self._counter % len(self.addrs)]


T = TypeVar("T")

Question = Callable[[str, int], Awaitable[T]]
"""Asks the name server at an address within so many milliseconds; RemotingError: no good answer."""


class Answered(Struct, Generic[T], frozen=True):
    """An answer, and the name server that gave it."""

    namesrv_addr: str
    value: T


class NamesrvStatus(Struct, frozen=True):
    """The state of one name server, as this client sees it."""

    addr: str
    is_chosen: bool
    """Whether it is asked first."""
    answered_at: Now | None
    """Time of its last good answer; None: never."""
    failed_at: Now | None
    error: RemotingError | None
    """The last reason for a missing answer."""


class _LastContact(Struct):
    answered_at: Now | None = None
    failed_at: Now | None = None
    error: RemotingError | None = None


class NameServers:
    """The name servers of one client, asked in the order of `choice`."""

    def __init__(
        self, choice: NamesrvChoice, *, clock: Clock, release: Callable[[str], object] = lambda _addr: None
    ) -> None:
        """Take the settings.

        Args:
            choice: the order in which name servers are asked.
            clock: the time.
            release: called with each address that left the list; closes its connection.
        """
        self._choice = choice
        self._clock = clock
        self._release = release
        self._records: dict[str, _LastContact] = {}
        self.why_none: RemotingError | None = None
        """Why the list is empty, if it is."""

    @property
    def addrs(self) -> tuple[str, ...]:
        """The list in use."""
        return self._choice.addrs

    def update(self, addrs: Iterable[str]) -> None:
        """Use another list from now on; an empty one is ignored."""
        for addr in self._choice.update(addrs):
            self._release(addr)
        self._records = {addr: self._record(addr) for addr in self._choice.addrs}

    def status(self) -> tuple[NamesrvStatus, ...]:
        """The last answer of each name server, in the order of the list."""
        return tuple(
            NamesrvStatus(
                addr, addr == self._choice.chosen, record.answered_at, record.failed_at, record.error
            )
            for addr, record in ((addr, self._record(addr)) for addr in self._choice.addrs)
        )

    async def ask(self, question: Question[T], *, timeout_ms: int) -> Answered[T]:
        """Return the first good answer.

        Raises:
            NoNameServerError: there is none within the time; it has the reason of each.
        """
        waiting = deque(self._choice.candidates())
        attempts: dict[asyncio.Task[T], str] = {}
        failures: dict[str, RemotingError] = {}
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        try:
            while waiting or attempts:
                left = max(deadline - loop.time(), 0.001)
                if waiting:
                    addr = waiting.popleft()
                    attempts[_start(question, addr, left)] = addr
                patience = left / (len(waiting) + 1) if waiting else None
                done, _ = await asyncio.wait(attempts, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    addr = attempts.pop(task)
                    answer = self._take(addr, task, failures)
                    if answer is not None:
                        self._choice.answered(addr)
                        self._note_slow(attempts)
                        return answer
        finally:
            await _end(attempts)
        if not failures and self.why_none is not None:
            failures[self.why_none.addr] = self.why_none
        raise NoNameServerError(failures)

    async def ask_each(
        self, addrs: Iterable[str], question: Question[T], *, timeout_ms: int
    ) -> tuple[list[Answered[T]], dict[str, RemotingError]]:
        """Ask several name servers at once; return the good answers, and the errors by address."""
        tasks = {_start(question, addr, timeout_ms / 1000): addr for addr in addrs}
        failures: dict[str, RemotingError] = {}
        try:
            if tasks:
                await asyncio.wait(tasks)
            answers = [self._take(addr, task, failures) for task, addr in tasks.items()]
        finally:
            await _end(tasks)
        return [answer for answer in answers if answer is not None], failures

    def prefer(self, addr: str) -> None:
        """Ask this one first from now on."""
        self._choice.answered(addr)

    def _take(
        self, addr: str, task: asyncio.Task[T], failures: dict[str, RemotingError]
    ) -> Answered[T] | None:
        """Record how an attempt ended; return the answer if there is one."""
        error = task.exception()
        if error is None:
            self._record(addr).answered_at = self._clock.now()
            return Answered(addr, task.result())
        if not isinstance(error, RemotingError):
            raise error
        failures[addr] = error
        self._failed(addr, error)
        return None

    def _note_slow(self, attempts: dict[asyncio.Task[T], str]) -> None:
        """Record a timeout for those that had not answered when another did."""
        for task, addr in attempts.items():
            if not task.done():
                self._failed(
                    addr, RemotingTimeoutError(addr, "no answer before another was asked and gave one")
                )

    def _failed(self, addr: str, error: RemotingError) -> None:
        record = self._record(addr)
        record.failed_at, record.error = self._clock.now(), error
        self._choice.failed(addr)

    def _record(self, addr: str) -> _LastContact:
        return self._records.setdefault(addr, _LastContact())


def _start(question: Question[T], addr: str, left_seconds: float) -> asyncio.Task[T]:
    async def ask() -> T:
        return await question(addr, max(int(left_seconds * 1000), 1))

    return asyncio.get_running_loop().create_task(ask(), name=f"ask {addr}")


async def _end(tasks: Iterable[asyncio.Task[T]]) -> None:
    """Cancel the tasks and retrieve their results, so that asyncio reports no error as never retrieved."""
    tasks = tuple(tasks)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
