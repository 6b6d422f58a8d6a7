"""Sends what incidents call for: one task for each receiver, so that none of them delays another."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Protocol, Self

import msgspec

from namekeeper.clock import Clock
from namekeeper.common.counts import shown_list
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.files import problem_with
from namekeeper.notifications.message import Message, title_of
from namekeeper.notifications.outbox import AttemptEnd, AttemptOutcome, Outbox, ReceiverState
from namekeeper.notifications.receivers import NotificationSettings, Receiver
from namekeeper.notifications.sending import Send
from namekeeper.notifications.tracking import SeenIncidents

__all__ = ["NotificationService", "SavesOutbox"]

POLL_SECONDS = 0.25
"""Interval at which it is decided what is to be sent."""
SAVE_SECONDS = 5.0
"""Longest time to wait for the disk; then messages go out, and may be repeated after a restart."""
STOP_SECONDS = 5.0
"""Time in which running attempts may end at a stop."""
SPARE_SECONDS = 10.0
"""An attempt that its way does not end in time is ended so long after its limit."""


class SavesOutbox(Protocol):
    """Keeps the outbox on disk."""

    def save(self, outbox: bytes) -> None:
        """Replace what was saved. Raises OSError."""


class NotificationService:
    """Sends messages while it is entered; an async context manager.

    Args:
        settings: who gets what.
        outbox: as it was saved last.
        folder: saves it.
        send: makes one attempt.
        clock: gives the present time.
        announce: gets a line for people when something was sent, failed or was given up.
    """

    def __init__(
        self,
        settings: NotificationSettings,
        outbox: Outbox,
        folder: SavesOutbox,
        *,
        send: Send,
        clock: Clock,
        announce: Callable[[str], None],
    ) -> None:
        self._settings, self._outbox, self._folder = settings, outbox, folder
        self._send, self._clock, self._announce = send, clock, announce
        self._threads = DaemonThreads("outbox", 1)
        self._saving = asyncio.Lock()
        self._revision = self._saved = 0
        """Numbers of the last change, and of the last one that is on disk."""
        self._disk_problem = ""
        self._tasks: list[asyncio.Task[None]] = []
        self._attempts: set[asyncio.Task[AttemptOutcome]] = set()
        self._is_stopping = False
        self._untracked = 0

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._deliver(each)) for each in self._settings.receivers]
        self._tasks.append(asyncio.create_task(self._plan_on()))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_stopping = True
        if self._attempts:
            await asyncio.wait(self._attempts, timeout=STOP_SECONDS)
            await asyncio.sleep(0)  # the tasks of the receivers note the outcomes
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._save()

    @property
    def receivers(self) -> Mapping[str, ReceiverState]:
        """Name of each receiver -> what was sent, and what waits."""
        of_outbox = self._outbox.receivers
        return {
            each.name: of_outbox.get(each.name) or ReceiverState(since=0) for each in self._settings.receivers
        }

    def problems(self) -> dict[str, str]:
        """The present problems for `/readyz`: short name -> a sentence."""
        failing = [f"{name}: {each.problem}" for name, each in self.receivers.items() if each.problem]
        found = {"outbox": self._disk_problem, "receivers": shown_list(failing)}
        if self._untracked:
            found["incidents"] = f"nothing is sent of {self._untracked} incidents: there are too many"
        return {name: problem for name, problem in found.items() if problem}

    async def see(self, seen: SeenIncidents) -> int | None:
        """Follow the incidents of now; returns the start of the earliest open one, wall ms."""
        now = self._clock.now().wall_ms
        tracking = self._outbox.tracking
        if tracking.see(seen, now):
            self._revision += 1
        if tracking.untracked != self._untracked:
            self._untracked = tracking.untracked
            if self._untracked:
                self._announce(f"too many incidents: nothing is sent of {self._untracked} of them")
        await self._plan()
        return min((each.facts.from_ts for each in tracking.incidents.values() if each.is_open), default=None)

    async def _plan_on(self) -> None:
        """Look again and again: the time of grace passes without a change."""
        while True:
            await self._plan()
            await asyncio.sleep(POLL_SECONDS)

    async def _plan(self) -> None:
        if self._outbox.plan(self._settings, self._clock.now().wall_ms):
            self._revision += 1
        if self._revision != self._saved:
            await self._save()

    async def _deliver(self, receiver: Receiver) -> None:
        while not self._is_stopping:
            message = self._outbox.next_message(receiver, self._settings, self._clock.now().wall_ms)
            if message is None:
                await asyncio.sleep(POLL_SECONDS)
                continue
            self._revision += 1
            await self._save()
            attempt = asyncio.create_task(self._attempt(receiver, message))
            self._attempts.add(attempt)
            try:
                outcome = await asyncio.shield(attempt)
            finally:
                self._attempts.discard(attempt)
                attempt.cancel()
            self._finish(receiver, message, outcome)
            await self._save()

    def _finish(self, receiver: Receiver, message: Message, outcome: AttemptOutcome) -> None:
        state = self._outbox.receivers[receiver.name]
        before = state.problem
        is_given_up = self._outbox.finish(receiver.name, outcome, self._clock.now().wall_ms)
        self._revision += 1
        if outcome.kind is AttemptEnd.ACKNOWLEDGED:
            self._announce(f"{receiver.name}: sent: {title_of(message)}")
        elif is_given_up:
            self._announce(f"{receiver.name}: given up: {title_of(message)}: {outcome.reason}")
        elif outcome.reason != before:
            self._announce(f"{receiver.name}: not sent yet: {outcome.reason}")

    async def _attempt(self, receiver: Receiver, message: Message) -> AttemptOutcome:
        """One attempt, which ends in any case and raises nothing."""
        try:
            async with asyncio.timeout(receiver.within_ms / 1_000 + SPARE_SECONDS):
                return await self._send(receiver, message)
        except TimeoutError:
            return AttemptOutcome(AttemptEnd.FAILED, "no answer in time")
        except Exception as error:  # noqa: BLE001 - its text may hold an address
            return AttemptOutcome(AttemptEnd.FAILED, f"a fault of Namekeeper: {type(error).__name__}")

    async def _save(self) -> None:
        """Put the newest state on disk; a disk that is full or hangs is announced, and stops nothing."""
        async with self._saving:
            if self._saved == self._revision:
                return
            revision = self._revision
            try:
                async with asyncio.timeout(SAVE_SECONDS):
                    await self._threads.run(self._folder.save, msgspec.json.encode(self._outbox))
            except TimeoutError:
                problem = "the disk does not answer"
            except OSError as error:
                problem = problem_with(error.filename or "", error)
            else:
                problem, self._saved = "", revision
            if problem != self._disk_problem:
                self._disk_problem = problem
                self._announce(
                    f"the outbox can't be saved: {problem}: after a restart messages may be repeated"
                    if problem
                    else "the outbox is saved again"
                )
