"""The name servers of one broker: a session with each, and requests to all of them at once."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from typing import Any

from namekeeper.broker.broker_client import BrokerClient
from namekeeper.broker.namesrv_session import NamesrvSession, RegisterBrokerResult
from namekeeper.broker.registration import BrokerState, Registration
from namekeeper.broker.tasks import Tasks
from namekeeper.errors import RemotingClosedError, RemotingError
from namekeeper.remoting.address import parse_address

__all__ = ["NamesrvSessions", "split_addresses"]

_log = logging.getLogger("namekeeper.broker")

Started = Mapping["asyncio.Task[RegisterBrokerResult]", str]
"""Task of each session that sends a registration -> address of its name server."""


class NamesrvSessions:
    """The sessions with the name servers that are on the list now, by address."""

    def __init__(
        self,
        client: BrokerClient,
        tasks: Tasks,
        on_result: Callable[[RegisterBrokerResult], object] | None,
    ) -> None:
        self._client = client
        self._tasks = tasks
        self._on_result = on_result
        self._sessions: dict[str, NamesrvSession] = {}

    @property
    def namesrv_addrs(self) -> list[str]:
        """The name servers."""
        return list(self._sessions)

    def last_results(self) -> dict[str, RegisterBrokerResult]:
        """Return the result of the last registration at each name server, if there was one."""
        return {
            addr: session.last_result
            for addr, session in self._sessions.items()
            if session.last_result is not None
        }

    def replace(self, namesrv_addrs: Iterable[str]) -> tuple[list[NamesrvSession], list[NamesrvSession]]:
        """Take a new list of name servers; return the sessions that are new, and those that are gone."""
        before = self._sessions
        self._sessions = {
            addr: before.get(addr) or NamesrvSession(addr, self._client) for addr in namesrv_addrs
        }
        added = [session for addr, session in self._sessions.items() if addr not in before]
        return added, [session for addr, session in before.items() if addr not in self._sessions]

    def start(self, registration: Registration, sessions: Iterable[NamesrvSession] | None = None) -> Started:
        """Start a registration in all sessions or in some; each session keeps the order of calls."""
        chosen = self._sessions.values() if sessions is None else sessions
        return {
            self._tasks.spawn(self._register(session, registration)): session.namesrv_addr
            for session in chosen
        }

    async def finish(
        self, started: Started, use: Callable[[RegisterBrokerResult], Awaitable[None]]
    ) -> list[RegisterBrokerResult]:
        """Wait for all results; call `use` with the first result that has an answer, as in Java."""
        is_used = False
        pending = set(started)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                result = _result_of(task, started[task])
                if not is_used and result.error is None and result.sent in ("all", "changed"):
                    is_used = True
                    await use(result)
        return [_result_of(task, addr) for task, addr in started.items()]

    async def needs(self, state: BrokerState) -> dict[str, bool | RemotingError]:
        """Ask every name server whether it lacks this state."""
        sessions = list(self._sessions.values())
        asked: list[Coroutine[Any, Any, bool | RemotingError]] = [
            _needs(session, state) for session in sessions
        ]
        answers = await asyncio.gather(*asked)
        return {session.namesrv_addr: answer for session, answer in zip(sessions, answers, strict=True)}

    async def unregister(
        self, state: BrokerState, sessions: Iterable[NamesrvSession] | None = None
    ) -> dict[str, RemotingError | None]:
        """Unregister from one name server after the other, as Java does; return the errors by address."""
        results: dict[str, RemotingError | None] = {}
        for session in self._sessions.values() if sessions is None else sessions:
            failure = await session.unregister(
                state.unregister(), state.settings.unregister_broker_timeout_ms
            )
            results[session.namesrv_addr] = failure
            if failure is not None:
                _log.warning("not unregistered from name server %s", failure)
        return results

    async def _register(self, session: NamesrvSession, registration: Registration) -> RegisterBrokerResult:
        result = await session.register(registration, registration.state.settings.register_broker_timeout_ms)
        if self._on_result is not None:
            self._on_result(result)
        return result


def split_addresses(namesrv_addr: str) -> list[str]:
    """Return the addresses of a list as they are written, each once.

    Raises:
        ConfigError: one can't be used; names it.
    """
    addrs = [text.strip() for text in namesrv_addr.split(";") if text.strip()]
    for addr in addrs:
        parse_address(addr)
    return list(dict.fromkeys(addrs))


def _result_of(task: "asyncio.Task[RegisterBrokerResult]", addr: str) -> RegisterBrokerResult:
    if task.cancelled():
        return RegisterBrokerResult(addr, error=RemotingClosedError(addr, "this broker was closed meanwhile"))
    return task.result()


async def _needs(session: NamesrvSession, state: BrokerState) -> bool | RemotingError:
    try:
        return await session.needs(state, state.data_version, state.settings.register_broker_timeout_ms)
    except RemotingError as error:
        return error
