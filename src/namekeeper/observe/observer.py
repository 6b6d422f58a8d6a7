"""Follows one name server: sends requests when they are due, keeps its tables, and has changes recorded.

Requests are sent one after the other, except those for the rows of different topics. So the answers have
an order, and a name server that is slow is asked less. After each answer the observer rests as long as
the answer took.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from enum import StrEnum
from functools import partial
from typing import Protocol

from msgspec import Struct

from namekeeper.clock import Clock
from namekeeper.daemon_threads import DaemonThreads
from namekeeper.errors import NamekeeperError, RequestError
from namekeeper.model.broker import BrokerKey
from namekeeper.observe.brokers import live_brokers
from namekeeper.observe.causes import has_cause_in_log
from namekeeper.observe.journal import JournalStatus, ObservedJournal, OpenJournal, Restart
from namekeeper.observe.log_file import LogStatus, ServerLog
from namekeeper.observe.memory import MemoryLimits
from namekeeper.observe.questions import (
    AskConfig,
    AskKv,
    AskMembers,
    AskRoute,
    AskTopics,
    ObservedAnswer,
    Question,
    TooLargeError,
    read_answer,
    request_of,
)
from namekeeper.observe.schedule import Rates, RequestSchedule, Windows
from namekeeper.observe.tables import Findings, ObservedTables
from namekeeper.remoting.request_sender import RequestSender
from namekeeper.wire.command import RemotingCommand

__all__ = ["NameServerObserver", "ObservedSender", "ObserverState", "ObserverStatus"]

log = logging.getLogger("namekeeper.observe")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 15.0
"""Pauses after failures in a row: each is twice as long as the one before."""
TOO_LARGE_PAUSE_SECONDS = 300.0
"""Pause after a name server had more than an observer takes: it has to be read anew."""
SAID_READING_MS = 10_000
"""A first reading of all topics that takes longer has a line at its start."""
LARGE_BYTES, LARGE_SIZE = 64 * 1024, 2_000
"""An answer of more bytes, or of more parts, is read and taken by a thread: other name servers are asked
meanwhile."""
THREADS = 2
"""Such threads at a time, of all observers: each may hold an answer of 16 MiB, and several times as much that
is made of it."""
WAITING_BYTES = 32 << 20
"""Large answers of one name server that wait for such a thread, or are read by one: the routes of 16 topics,
each of thousands of broker names."""


class ObservedSender(RequestSender, Protocol):
    """Sends requests over one connection, and counts the connections that it made."""

    connections_made: int

    def release(self, addr: str) -> None:
        """Close the connection; the next request makes another."""


class ObserverState(StrEnum):
    """The state of observing a name server."""

    CONNECTING = "connecting"
    """The name server never answered."""
    READING = "reading"
    """The name server answers, and not everything was read once. Nothing is recorded yet."""
    OBSERVED = "observed"
    NOT_OBSERVED = "not observed"
    """The state of the name server is unknown from its last answer on."""


class ObserverStatus(Struct, frozen=True, kw_only=True):
    """The status of an observed name server: its state, its windows and its requests."""

    addr: str
    state: ObserverState
    reason: str
    """Why it is not observed; the last failure while it is."""
    answered_at: int
    """Wall ms of the last good answer; 0: never."""
    restart: str
    brokers: int
    topics: int
    unread: int
    """Topics whose rows were never read."""
    windows: Windows
    requests: int
    cost_us: int
    """Processor time that the requests cost the name server, by the measured costs."""
    refused: dict[str, str]
    """Requests that the name server refuses, and why; what they would show is not recorded."""
    journal: JournalStatus | None
    size_bytes: int = 0
    """Memory of its topics, rows, brokers and entries, about."""
    log: LogStatus | None = None
    """The log file of the name server, if causes are read from it."""
    oldest_ms: int = 0
    """How long ago the rows were asked for that are next in the sweep; 0 before it starts."""
    reading_ms: int = 0
    """How long the budget needs for the topics whose rows were never read."""

    @property
    def is_sweep_late(self) -> bool:
        """Whether rows of topics are read less often than the longest window says."""
        return self.oldest_ms > self.windows.queues_ms


class NameServerObserver:
    """Observes the name server at one address until it is cancelled.

    Args:
        addr: `host:port`.
        sender: sends the requests; used for this name server only.
        open_journal: opens the journal of a period of observation.
        clock: the time.
        rates: how often to ask, and the budget.
        on_change: called with the status when the state, or what is recorded, is another, and before a
            long reading.
        sleep: waits this many seconds.
        memory: bounds the memory of all observers.
        threads: run what takes long.
        log_file: the log of the name server, if it can be read here.
    """

    def __init__(  # noqa: PLR0913 - one for each part
        self,
        addr: str,
        sender: ObservedSender,
        open_journal: OpenJournal,
        *,
        clock: Clock,
        rates: Rates = Rates(),  # noqa: B008 - a frozen value
        on_change: Callable[[ObserverStatus], object] = lambda _: None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        memory: MemoryLimits | None = None,
        threads: DaemonThreads | None = None,
        log_file: ServerLog | None = None,
    ) -> None:
        self.addr = addr
        self._sender = sender
        self._open_journal = open_journal
        self._clock = clock
        self._rates = rates
        self._on_change = on_change
        self._sleep = sleep
        self._memory = memory or MemoryLimits()
        self._threads = threads or DaemonThreads("answer", THREADS)
        self._log_file = log_file
        self._waiting_bytes = 0
        """Bytes of large answers that were not read yet."""
        self._is_leaving = False
        """Whether a thread need not take an answer any more."""
        self._too_large = ""
        """Why the name server has too much; empty if it has not."""
        self._state = ObserverState.CONNECTING
        self._said: ObserverState | None = None
        """The state that `on_change` was told last."""
        self._reason = ""
        self._answered_at = 0
        self._restart = Restart.POSSIBLE
        self._former: frozenset[BrokerKey] = frozenset()
        """The brokers of the period before."""
        self._former_connection: int | None = None
        self._journal: ObservedJournal | None = None
        self._failures = 0
        """Failures in a row."""
        self._requests_before, self._cost_before = 0, 0.0
        self._begin()

    async def run(self) -> None:
        """Observe until cancelled; then end the journal at the last answer."""
        following = None if self._log_file is None else asyncio.create_task(self._log_file.follow())
        try:
            while True:
                await self._sleep(await self.step())
        finally:
            if following is not None:
                following.cancel()
            self._memory.release(self)
            await self._leave()

    def status(self) -> ObserverStatus:
        """The present status."""
        tables, schedule = self._tables, self._schedule
        return ObserverStatus(
            addr=self.addr,
            state=self._state,
            reason=self._reason,
            answered_at=self._answered_at,
            restart=self._restart,
            brokers=tables.broker_count,
            topics=len(tables.topics),
            unread=tables.unread,
            windows=schedule.windows(),
            requests=self._requests_before + schedule.requests,
            cost_us=int(self._cost_before + schedule.spent_us),
            refused=dict(self._refused),
            journal=None if self._journal is None else self._journal.status(),
            size_bytes=tables.size,
            log=None if self._log_file is None else self._log_file.status(),
            oldest_ms=schedule.oldest_ms(self._clock.now().mono_ms),
            reading_ms=schedule.reading_ms(tables.unread) if tables.unread else 0,
        )

    async def step(self) -> float:
        """Send the requests that are due, and take the answers; returns the seconds until the next call."""
        began = self._clock.now()
        questions = self._schedule.next(began.mono_ms)
        if isinstance(questions, int):
            return questions / 1_000
        results = await asyncio.gather(*map(self._ask, questions))
        answers = sorted(
            (one for one in results if isinstance(one, ObservedAnswer)), key=lambda one: one.received.mono_ms
        )
        for question, result in zip(questions, results, strict=True):
            if not isinstance(result, ObservedAnswer):
                self._note_failure(question, result, began.mono_ms)
        counts = bool(answers) and await self._is_same_period(answers)
        for answer in answers:
            if counts and not self._too_large:
                await self._take(answer)
            else:
                self._schedule.failed(answer.question)
        is_answered = len(answers) == len(questions)
        return await self._pause(began.mono_ms, answers[-1].received.mono_ms if is_answered else None)

    async def _pause(self, began: int, answered_at: int | None) -> float:
        """The seconds until the next step; after a failure, perhaps give up.

        Args:
            began: when the step began, monotonic ms.
            answered_at: when the last answer was received; None: some request has no good answer.
        """
        if self._too_large:
            reason, self._too_large = self._too_large, ""
            await self._give_up(reason)
            return TOO_LARGE_PAUSE_SECONDS
        if answered_at is not None:
            self._failures = 0
            return (answered_at - began) / 1_000
        if self._is_silent(self._clock.now().mono_ms):
            await self._give_up()
        self._failures += 1
        return min(FIRST_PAUSE_S * 2.0 ** min(self._failures - 1, 10), LONGEST_PAUSE_S)

    # Asking.

    async def _ask(self, question: Question) -> ObservedAnswer | NamekeeperError:
        code, fields = request_of(question)
        sent = self._clock.now()
        self._schedule.sent(question, sent.mono_ms)
        try:
            answer = await self._sender.invoke(self.addr, code, fields, timeout_ms=self._rates.answer_ms)
            received = self._clock.now()
            if len(answer.body) <= LARGE_BYTES:
                return read_answer(question, answer, sent, received)
            return await self._read_large(partial(read_answer, question, answer, sent, received), answer)
        except NamekeeperError as error:
            return error

    async def _read_large(
        self, read: Callable[[], ObservedAnswer], answer: RemotingCommand
    ) -> ObservedAnswer:
        size = len(answer.body)
        if self._waiting_bytes and self._waiting_bytes + size > WAITING_BYTES:
            raise TooLargeError(f"{size:,} bytes, while {self._waiting_bytes:,} bytes of others wait")
        self._waiting_bytes += size
        try:
            return await self._threads.run(read)
        finally:
            self._waiting_bytes -= size

    def _note_failure(self, question: Question, error: NamekeeperError, since: int) -> None:
        self._schedule.failed(question)
        code, _ = request_of(question)
        if isinstance(error, TooLargeError):
            self._too_large = f"{self.addr}: request {int(code)}: {error.remark}"
        elif isinstance(error, RequestError):
            self._reason = f"{self.addr}: request {int(code)}: {error.remark} (code {error.code})"
            if isinstance(question, AskKv | AskConfig) and self._journal is None:
                self._schedule.drop(question)
                self._refused[str(int(code))] = self._reason
                return
        else:
            self._reason = str(error)
            self._sender.release(self.addr)
        self._failing.setdefault(question, since)
        if isinstance(question, AskRoute):
            self._schedule.touch([question.topic])
        self._schedule.ask_members()

    def _is_silent(self, now_ms: int) -> bool:
        """Whether some request has had no good answer for too long, or the first one of all has none."""
        if self._state is ObserverState.CONNECTING:
            return True
        return any(now_ms - since >= self._rates.answer_ms for since in self._failing.values())

    # Periods of observation.

    def _begin(self) -> None:
        """Know nothing."""
        self._tables = ObservedTables()
        self._schedule = RequestSchedule(self._rates, lambda topic: topic in self._tables.topics)
        self._failing: dict[Question, int] = {}
        """Question -> when a request that has had no good answer since was sent first."""
        self._refused: dict[str, str] = {}
        self._connection: int | None = None
        """The connection of the last answer; None: there was no answer in this period."""
        self._members_sent = 0
        self._has_said_reading = False

    async def _is_same_period(self, answers: list[ObservedAnswer]) -> bool:
        """Whether answers belong to the present period. If a name server may have restarted, another begins.

        A restart shows in two ways: the connection was closed, and brokers are missing. Answers over a new
        connection count only after a request for the brokers was answered over it.
        """
        first = answers[0]
        is_members = isinstance(first.question, AskMembers)
        made = self._sender.connections_made
        if self._connection is None:
            if not is_members:
                return False
            self._set_state(ObserverState.READING)
        elif made != self._connection:
            if not is_members:
                self._schedule.ask_members()
                return False
            if not live_brokers(first.value) >= self._tables.live:
                await self._begin_again("its connection was closed, and brokers are missing", first)
        if is_members and self._is_late(first):
            await self._begin_again("it answers too slowly", first)
        if is_members:
            self._note_restart(first)
            self._members_sent = first.sent.mono_ms
        self._connection = made
        return True

    def _is_late(self, members: ObservedAnswer) -> bool:
        """Whether a change of the brokers would have a longer window than is stated."""
        if self._connection is None or self._journal is None:
            return False
        limit_ms = self._schedule.windows().members_ms
        return members.received.mono_ms - self._members_sent > limit_ms

    async def _begin_again(self, reason: str, members: ObservedAnswer) -> None:
        """End the period before an answer for the brokers, which begins another."""
        await self._give_up(reason)
        self._schedule.sent(members.question, members.sent.mono_ms)
        self._set_state(ObserverState.READING)

    def _note_restart(self, members: ObservedAnswer) -> None:
        if self._connection is not None or not self._former:
            return
        live = live_brokers(members.value)
        is_new = self._sender.connections_made != self._former_connection
        self._restart = Restart.POSSIBLE if live & self._former or not is_new else Restart.SEEN

    async def _give_up(self, reason: str = "") -> None:
        """Observe no more: the state is unknown from the last answer on."""
        self._reason = reason or self._reason
        if self._connection is None:
            self._set_state(ObserverState.NOT_OBSERVED if self._answered_at else ObserverState.CONNECTING)
            return
        self._former, self._former_connection = self._tables.live or self._former, self._connection
        await self._leave()
        self._memory.release(self)
        self._requests_before += self._schedule.requests
        self._cost_before += self._schedule.spent_us
        self._begin()
        self._set_state(ObserverState.NOT_OBSERVED)

    async def _leave(self) -> None:
        """End the journal of the period, if it has one."""
        journal, self._journal = self._journal, None
        if journal is not None:
            await journal.leave()

    # Answers.

    async def _take(self, answer: ObservedAnswer) -> None:
        question = answer.question
        self._schedule.answered(question, answer.size)
        self._failing.pop(question, None)
        self._answered_at = answer.received.wall_ms
        outcome = await self._followed(answer)
        refusal = self._memory.refuses(self, self._tables.size)
        if refusal:
            self._too_large = f"{self.addr}: {refusal}"
            return
        if outcome.is_doubted:
            self._schedule.doubt()
        if self._journal is not None:
            changes = outcome.changes
            if self._log_file is not None and has_cause_in_log(changes):
                with self._journal.paused():  # the tables are ahead of the journal
                    changes = await self._log_file.explained(changes, answer.received.mono_ms)
            self._journal.answered(answer.received, changes)
            return
        if isinstance(question, AskTopics):
            self._say_reading()
        if self._tables.is_complete and self._schedule.has_answers:
            self._journal = self._open_journal(self._restart, self._tables.snapshot, answer.received)
            self._reason = ""
            self._schedule.start_sweep()
            self._set_state(ObserverState.OBSERVED)

    def _say_reading(self) -> None:
        """Say once in a period that the first reading of all topics takes long."""
        status = self.status()
        if not self._has_said_reading and status.reading_ms > SAID_READING_MS:
            self._has_said_reading = True
            self._on_change(status)

    async def _followed(self, answer: ObservedAnswer) -> Findings:
        """Take an answer into the tables; a large one in a thread, while nothing else looks at their rows."""
        if answer.size <= LARGE_SIZE:
            return self._follow(answer)
        following = asyncio.ensure_future(self._threads.run(self._follow, answer))
        with nullcontext() if self._journal is None else self._journal.paused():
            try:
                return await asyncio.shield(following)
            except asyncio.CancelledError:
                self._is_leaving = True
                await asyncio.wait([following])  # the end of the journal may look at the tables
                raise

    def _follow(self, answer: ObservedAnswer) -> Findings:
        if self._is_leaving:
            return Findings()
        outcome = self._tables.take(answer)
        self._schedule.touch(outcome.touched)
        return outcome

    def _set_state(self, state: ObserverState) -> None:
        self._state = state
        if state is not self._said:
            self._said = state
            self._on_change(self.status())
