"""Requests of this program to name servers and brokers."""

import asyncio
import itertools
import ssl
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from msgspec import Struct

from namekeeper.errors import ConfigError, RemotingClosedError, RemotingConnectError, RemotingTimeoutError
from namekeeper.remoting.address import parse_address
from namekeeper.remoting.client_connection import ClientConnection, RequestCallback
from namekeeper.remoting.resolving import Resolver
from namekeeper.remoting.tls_client import Tls, present_context
from namekeeper.wire.codec import encode_command
from namekeeper.wire.codes import ResponseCode, SerializeType
from namekeeper.wire.command import ONEWAY_FLAG, RemotingCommand
from namekeeper.wire.command import request as make_request
from namekeeper.wire.frames import DEFAULT_MAX_FRAME_BYTES

__all__ = ["Backoff", "RemotingClient", "RpcHook"]

DEFAULT_TIMEOUT_MS = 3_000
"""Java's, for requests and for connecting."""
MAX_CONNECTIONS = 1_024
"""Default limit of connections: more than any tool or library needs."""
GOODBYE_SECONDS = 2.0
_CHECK = "check the address and that the server runs"
_INT32_MASK = 0x7FFF_FFFF

RpcHook = Callable[[str, RemotingCommand], None]
"""Called with the peer's address and each request before it is encoded; may change its ext fields."""


FIRST_BACKOFF_SECONDS = 0.1
MAX_BACKOFF_SECONDS = 3.0
"""The client notices a peer that is back within this time."""
MAX_REMEMBERED_FAILURES = 1_024


class _Failures(Struct):
    """Failed attempts in a row to reach one address."""

    count: int
    retry_at: float
    last: str


class Backoff:
    """Waits longer after each failure in a row to reach an address; instants are seconds of any one clock."""

    def __init__(self) -> None:
        self._failures: dict[str, _Failures] = {}

    def why_not(self, addr: str, now: float) -> str | None:
        """Return why and until when the address is left alone; None if it may be tried."""
        failures = self._failures.get(addr)
        if failures is None or failures.retry_at <= now:
            return None
        return f"{failures.last} (next attempt in {(failures.retry_at - now) * 1000:.0f} ms)"

    def failed(self, addr: str, message: str, now: float) -> None:
        """Note one more failure; beyond the limit of addresses, forget the oldest."""
        before = self._failures.pop(addr, None)
        count = before.count + 1 if before is not None else 1
        wait_seconds = min(FIRST_BACKOFF_SECONDS * 2 ** (count - 1), MAX_BACKOFF_SECONDS)
        if len(self._failures) >= MAX_REMEMBERED_FAILURES:
            del self._failures[next(iter(self._failures))]
        self._failures[addr] = _Failures(count, now + wait_seconds, message)

    def forget(self, addr: str) -> None:
        """Forget the failures of an address."""
        self._failures.pop(addr, None)


class RemotingClient:
    """Keeps one connection for each address, shared by all requests; an async context manager.

    The client connects at the first request, and can be made without a loop. After failed attempts it waits
    before it connects to an address again; until then requests to it fail at once.
    """

    def __init__(  # noqa: PLR0913 - one for each setting
        self,
        *,
        tls: Tls | None = None,
        rpc_hook: RpcHook | None = None,
        on_request: RequestCallback | None = None,
        connect_timeout_ms: int = DEFAULT_TIMEOUT_MS,
        serialize_type: SerializeType = SerializeType.JSON,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
        max_connections: int = MAX_CONNECTIONS,
        idle_seconds: float | None = None,
    ) -> None:
        """Take the settings.

        Args:
            tls: a `ClientTls`, which follows its files, or a context that stays as it is; None: no TLS.
            rpc_hook: signs requests, for instance.
            on_request: answers requests of peers, such as 905; without it the answer is "not supported".
            connect_timeout_ms: for one attempt, TLS handshake included.
            serialize_type: header form of requests.
            max_frame_bytes: bounds an answer.
            max_connections: beyond this limit, the client closes the least recently used connection without
                open requests.
            idle_seconds: the client closes a connection after this time without requests; None: connections
                stay.
        """
        self._tls = tls
        self._rpc_hook = rpc_hook
        self._on_request = on_request
        self._connect_timeout_ms = connect_timeout_ms
        self._serialize_type = serialize_type
        self._max_frame_bytes = max_frame_bytes
        self._max_connections = max_connections
        self._idle_seconds = idle_seconds
        self._idle_timer: asyncio.TimerHandle | None = None
        self._opaques = itertools.count(1)
        self._connections: dict[str, ClientConnection] = {}
        """Address -> connection; the most recently used one is last."""
        self._open_sockets: set[ClientConnection] = set()
        """All connections, also retired ones that still wait for answers."""
        self._connecting: dict[str, asyncio.Task[ClientConnection]] = {}
        self._backoff = Backoff()
        self._resolver = Resolver()
        self._is_closed = False
        self.connections_made = 0
        """Connections so far: whether an answer came over the same one as the answer before."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def pending(self) -> int:
        """Requests that wait for their answer."""
        return sum(connection.pending for connection in self._open_sockets)

    async def invoke(
        self,
        addr: str,
        code: int,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
    ) -> RemotingCommand:
        """Send a request to `host:port` and return the answer, whatever its code.

        After a GO_AWAY, the client sends the request once more, over a new connection.

        Raises:
            RemotingConnectError: no connection.
            RemotingTimeoutError: no answer in time; the connection stays.
            RemotingClosedError: the connection closed meanwhile; the peer may have handled the request.
        """
        request = self._request(addr, code, ext_fields, body)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                connection, answer = await self._exchange(addr, request)
                if answer.code == ResponseCode.GO_AWAY:
                    self._retire(connection)
                    _, answer = await self._exchange(addr, request)
                return answer
        except TimeoutError:
            raise self._timed_out(addr, code, timeout_ms) from None

    async def invoke_oneway(
        self,
        addr: str,
        code: int,
        ext_fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
    ) -> None:
        """Send a request without an answer; return when it is written. Raises like `invoke`."""
        request = self._request(addr, code, ext_fields, body)
        request.flag = ONEWAY_FLAG
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                connection = await self._connection(addr)
                await connection.ready()
        except TimeoutError:
            raise self._timed_out(addr, code, timeout_ms) from None
        request.opaque = self._next_opaque()
        connection.write(encode_command(request, self._serialize_type))

    def release(self, addr: str) -> None:
        """Close the connection to `addr` once no request is open, and forget its failures."""
        self._backoff.forget(addr)
        connection = self._connections.get(addr)
        if connection is not None:
            self._retire(connection)

    async def close(self) -> None:
        """Close all connections; requests under way fail with RemotingClosedError. May be called twice."""
        self._is_closed = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        attempts = list(self._connecting.values())
        for task in attempts:
            task.cancel()
        await asyncio.gather(*attempts, return_exceptions=True)
        connections = list(self._open_sockets)
        for connection in connections:
            connection.close()
        try:
            async with asyncio.timeout(GOODBYE_SECONDS):
                for connection in connections:
                    await connection.gone.wait()
        except TimeoutError:  # the peer doesn't read
            for connection in connections:
                connection.abort()

    # A request.

    def _request(
        self, addr: str, code: int, ext_fields: Mapping[str, str] | None, body: bytes
    ) -> RemotingCommand:
        request = make_request(code, dict(ext_fields) if ext_fields else None, body)
        if self._rpc_hook is not None:
            self._rpc_hook(addr, request)
        return request

    async def _exchange(
        self, addr: str, request: RemotingCommand
    ) -> tuple[ClientConnection, RemotingCommand]:
        connection = await self._connection(addr)
        await connection.ready()
        request.opaque = self._next_opaque()
        return connection, await connection.exchange(
            request.opaque, encode_command(request, self._serialize_type)
        )

    def _next_opaque(self) -> int:
        return next(self._opaques) & _INT32_MASK

    def _timed_out(
        self, addr: str, code: int, timeout_ms: int
    ) -> RemotingConnectError | RemotingTimeoutError:
        if addr in self._connecting:
            return RemotingConnectError(addr, f"no connection within {timeout_ms} ms; {_CHECK}")
        return RemotingTimeoutError(
            addr, f"no answer to request code {code} within {timeout_ms} ms; the server is busy or cut off"
        )

    # Connections.

    async def _connection(self, addr: str) -> ClientConnection:
        """Return the connection to `addr`; callers that need it at the same time share one attempt."""
        if self._is_closed:
            raise RemotingClosedError(addr, "this client is closed")
        connection = self._connections.get(addr)
        if connection is not None and connection.is_open:
            self._note_use(connection)
            return connection
        attempt = self._connecting.get(addr)
        if attempt is None:
            left_alone = self._backoff.why_not(addr, asyncio.get_running_loop().time())
            if left_alone is not None:
                raise RemotingConnectError(addr, left_alone)
            attempt = asyncio.create_task(self._connect(addr), name=f"connect to {addr}")
            self._connecting[addr] = attempt
            attempt.add_done_callback(lambda task: self._attempt_ended(addr, task))
        try:
            # The attempt belongs to the client: if one caller gives up, the others still get the connection.
            return await asyncio.shield(attempt)
        except asyncio.CancelledError:
            if attempt.cancelled() and self._is_closed:
                raise RemotingClosedError(addr, "this client was closed while it connected") from None
            raise

    async def _connect(self, addr: str) -> ClientConnection:
        try:
            host, port = parse_address(addr)
            async with asyncio.timeout(self._connect_timeout_ms / 1000):
                tls = await present_context(self._tls)
                connection = await self._connect_to_host(addr, host, port, tls)
        except (OSError, ConfigError) as error:
            message = self._why_not(error)
            self._backoff.failed(addr, message, asyncio.get_running_loop().time())
            raise RemotingConnectError(addr, message) from None
        self.connections_made += 1
        self._open_sockets.add(connection)
        self._note_use(connection)
        self._make_room()
        return connection

    async def _connect_to_host(
        self, addr: str, host: str, port: int, tls: ssl.SSLContext | None
    ) -> ClientConnection:
        """Try each IP address of the host; raise the OSError of the last one."""
        failure: OSError = ConnectionError(f"{host} has no IP address")
        for address in await self._resolver.addresses(host):
            try:
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: self._new_connection(addr), address, port,
                    ssl=tls, server_hostname=host if tls is not None else None,
                )  # fmt: skip
            except OSError as error:
                failure = error
            else:
                return connection
        raise failure

    def _new_connection(self, addr: str) -> ClientConnection:
        return ClientConnection(
            addr, max_frame_bytes=self._max_frame_bytes, on_request=self._on_request, on_lost=self._lost
        )

    def _why_not(self, error: OSError | ConfigError) -> str:
        if isinstance(error, ConfigError):
            return str(error)
        if isinstance(error, ssl.SSLError):
            return f"no TLS connection: {error}; check that the server speaks TLS and the certificates"
        if isinstance(error, TimeoutError):
            return f"no connection within {self._connect_timeout_ms} ms; {_CHECK}"
        return f"can't connect: {error.strerror or error}; {_CHECK}"

    def _attempt_ended(self, addr: str, task: asyncio.Task[ClientConnection]) -> None:
        self._connecting.pop(addr, None)
        if not task.cancelled():
            task.exception()  # no caller may be left to read the exception

    def _retire(self, connection: ClientConnection) -> None:
        """Send no more requests over it; requests under way may still be answered."""
        if self._connections.get(connection.addr) is connection:
            del self._connections[connection.addr]
        connection.retire()

    def _lost(self, connection: ClientConnection) -> None:
        self._open_sockets.discard(connection)
        if self._connections.get(connection.addr) is connection:
            del self._connections[connection.addr]
        if connection.has_received:
            self._backoff.forget(connection.addr)
        elif not (self._is_closed or connection.is_retired):  # accepted and closed at once: as if refused
            why = "the peer closed the connection and sent nothing"
            self._backoff.failed(connection.addr, why, asyncio.get_running_loop().time())

    def _note_use(self, connection: ClientConnection) -> None:
        self._connections.pop(connection.addr, None)
        self._connections[connection.addr] = connection
        connection.used_at = asyncio.get_running_loop().time()
        if self._idle_seconds is not None and self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(self._idle_seconds, self._end_idle)

    def _make_room(self) -> None:
        if len(self._connections) > self._max_connections:
            for connection in self._connections.values():
                if not connection.pending:
                    self._drop(connection)
                    return

    def _end_idle(self) -> None:
        """Close connections that were idle for too long, and check again when the next one may be."""
        assert self._idle_seconds is not None
        self._idle_timer = None
        loop = asyncio.get_running_loop()
        for connection in list(self._connections.values()):
            rest = connection.used_at + self._idle_seconds - loop.time()
            if rest > 0:
                self._idle_timer = loop.call_later(rest, self._end_idle)
                return
            if connection.pending:
                self._note_use(connection)
            else:
                self._drop(connection)

    def _drop(self, connection: ClientConnection) -> None:
        """Close a connection without pending answers at once, even if its peer does not read."""
        del self._connections[connection.addr]
        connection.is_retired = True
        connection.abort()
