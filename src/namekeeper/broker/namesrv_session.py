"""Registers one broker at one name server: one registration at a time, in order, also after failures.

Each name server has a session of its own, so a dead or slow name server does not delay the others.
"""

import asyncio
import logging
from typing import Literal

from msgspec import Struct

from namekeeper.broker.broker_client import BrokerClient, send_oneway
from namekeeper.broker.registration import BrokerState, Registration
from namekeeper.broker.settings import BrokerSettings
from namekeeper.errors import (
    NamekeeperError,
    RemotingError,
    RemotingTimeoutError,
    RequestError,
    ResponseError,
)
from namekeeper.messages.bodies import decode_data_version, decode_kv_table
from namekeeper.messages.fields import decode_header
from namekeeper.messages.registration import RegisterBrokerResponseHeader
from namekeeper.model.version import DataVersion
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import RemotingCommand

__all__ = ["NamesrvSession", "RegisterBrokerResult"]

_log = logging.getLogger("namekeeper.broker")


class RegisterBrokerResult(Struct, frozen=True):
    """The result of a registration at one name server."""

    namesrv_addr: str
    sent: Literal["all", "changed", "nothing", "oneway"] = "all"
    """Whether all topics were sent, only the changed ones, nothing (this version is known there), or
    one-way."""
    master_addr: str | None = None
    """For a slave: its master, if that is live."""
    ha_server_addr: str | None = None
    """Where that master lets slaves replicate."""
    order_topic_config: dict[str, str] | None = None
    """Topic -> order configuration; None when the name server sent no table."""
    error: NamekeeperError | None = None
    """Why there is no answer; then the fields above are empty."""


class NamesrvSession:
    """Registrations of one broker at one name server."""

    def __init__(self, namesrv_addr: str, client: BrokerClient) -> None:
        self.namesrv_addr = namesrv_addr
        self.last_result: RegisterBrokerResult | None = None
        self._client = client
        self._turn = asyncio.Lock()
        self._has_all = False
        """Whether the last registration was accepted; the name server may have forgotten it since."""

    async def register(self, registration: Registration, timeout_ms: int) -> RegisterBrokerResult:
        """Send a registration after the earlier ones; a failure is in the result, never raised.

        An incremental registration is replaced by a full one unless the name server has all earlier topics.
        So no topic is lost after a lost registration or a restart of the name server.
        """
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        try:
            async with asyncio.timeout_at(deadline):
                await self._turn.acquire()
        except TimeoutError:
            message = f"an earlier registration still waits for its answer after {timeout_ms} ms"
            return self._note(RegisterBrokerResult(
                self.namesrv_addr, error=RemotingTimeoutError(self.namesrv_addr, message)))  # fmt: skip
        try:
            result = await self._register(registration, deadline)
        except NamekeeperError as error:
            result = RegisterBrokerResult(self.namesrv_addr, error=error)
        finally:
            self._turn.release()
        return self._note(result)

    async def needs(self, state: BrokerState, data_version: DataVersion, timeout_ms: int) -> bool:
        """Ask whether the name server lacks a version of the broker (protocol.md 6.3).

        A name server treats the question as a heartbeat. An answer other than SUCCESS means no, as in Java.

        Raises:
            RemotingError: there is no answer, or none that can be read.
        """
        answer = await self._ask(state.query(data_version), timeout_ms)
        if answer.code != ResponseCode.SUCCESS:
            return False
        if (answer.ext_fields or {}).get("changed", "true").lower() != "false":
            return True
        return bool(answer.body) and _read(self.namesrv_addr, answer.body) != data_version

    async def unregister(self, request: RemotingCommand, timeout_ms: int) -> RemotingError | None:
        """Send UNREGISTER_BROKER; returns why it could not be done, or None."""
        self._has_all = False
        try:
            answer = await self._ask(request, timeout_ms)
        except RemotingError as error:
            return error
        if answer.code != ResponseCode.SUCCESS:
            return ResponseError(self.namesrv_addr, answer.code, answer.remark)
        return None

    async def _register(self, registration: Registration, deadline: float) -> RegisterBrokerResult:
        if registration.is_incremental:
            return await self._register_changed(registration, deadline)
        if not registration.force and not await self._lacks(registration, deadline):
            return RegisterBrokerResult(self.namesrv_addr, sent="nothing")
        return await self._register_all(registration, deadline)

    async def _register_changed(self, registration: Registration, deadline: float) -> RegisterBrokerResult:
        """Send only the changed topics if the name server has all others, else all topics.

        Java always sends the changed topics only. A restarted name server of 5.x refuses them then; one of
        4.x takes them for all topics of the broker until the next change (trap T11).
        """
        before = registration.before
        if self._has_all and before is not None and not await self._lacks(registration, deadline, before):
            try:
                return await self._send(registration.incremental(), registration, deadline, "changed")
            except ResponseError:
                pass  # it has lost the broker since the question
        return await self._register_all(registration, deadline)

    async def _register_all(self, registration: Registration, deadline: float) -> RegisterBrokerResult:
        requests = await registration.full()
        if registration.has_one_topic and not self._has_all:
            requests = [*registration.first(), *requests]
        try:
            return await self._send(requests, registration, deadline, "all")
        except ResponseError:
            if not registration.has_one_topic or len(requests) > 1:
                raise
        return await self._send([*registration.first(), *requests], registration, deadline, "all")

    async def _send(
        self,
        requests: list[RemotingCommand],
        registration: Registration,
        deadline: float,
        what: Literal["all", "changed"],
    ) -> RegisterBrokerResult:
        """Send the requests one after the other; stop at the first failure."""
        self._has_all = False
        answer: RemotingCommand | None = None
        for request in requests:
            if registration.oneway:
                await send_oneway(self._client, self.namesrv_addr, request, self._left_ms(deadline))
                continue
            answer = await self._ask(request, self._left_ms(deadline))
            if answer.code != ResponseCode.SUCCESS:
                raise ResponseError(self.namesrv_addr, answer.code, answer.remark)
        self._has_all = True
        if answer is None:
            return RegisterBrokerResult(self.namesrv_addr, sent="oneway")
        result = _result(self.namesrv_addr, answer, what)
        self._log_success(registration.state.settings)
        return result

    async def _lacks(
        self, registration: Registration, deadline: float, data_version: DataVersion | None = None
    ) -> bool:
        """Whether the name server lacks a version; also true if it gives no answer."""
        try:
            state = registration.state
            return await self.needs(state, data_version or state.data_version, self._left_ms(deadline))
        except RemotingError:
            return True

    async def _ask(self, request: RemotingCommand, timeout_ms: int) -> RemotingCommand:
        return await self._client.invoke(
            self.namesrv_addr, request.code, request.ext_fields, request.body, timeout_ms=timeout_ms
        )

    def _log_success(self, settings: BrokerSettings) -> None:
        """Log each registration in the words of Java's broker, which scripts wait for."""
        if settings.is_five:
            _log.info("Registering current broker to name server completed. TargetHost=%s", self.namesrv_addr)
        else:
            _log.info("register broker[%d]to name server %s OK", settings.broker_id, self.namesrv_addr)

    def _left_ms(self, deadline: float) -> int:
        return max(1, int((deadline - asyncio.get_running_loop().time()) * 1000))

    def _note(self, result: RegisterBrokerResult) -> RegisterBrokerResult:
        """Remember a result; log it when success and failure change."""
        last, self.last_result = self.last_result, result
        if result.error is not None and (last is None or last.error is None):
            _log.warning("no registration at name server %s", result.error)
        elif result.error is None and (last is None or last.error is not None):
            _log.info("registered at name server %s", self.namesrv_addr)
        return result


def _result(addr: str, answer: RemotingCommand, sent: Literal["all", "changed"]) -> RegisterBrokerResult:
    try:
        fields = decode_header(RegisterBrokerResponseHeader, answer.ext_fields)
        order_topic_config = decode_kv_table(answer.body) if answer.body else None
    except RequestError as error:
        raise RemotingError(addr, f"its answer can't be read: {error.remark}; is it a name server?") from None
    return RegisterBrokerResult(addr, sent, fields.master_addr, fields.ha_server_addr, order_topic_config)


def _read(addr: str, body: bytes) -> DataVersion:
    try:
        return decode_data_version(body)
    except RequestError as error:
        raise RemotingError(addr, f"its answer can't be read: {error.remark}; is it a name server?") from None
