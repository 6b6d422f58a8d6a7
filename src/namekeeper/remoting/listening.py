"""Listening sockets and the loop that accepts from them: in batches, bounded, never spinning."""

import asyncio
import contextlib
import errno
import os
import socket
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from namekeeper.errors import ConfigError
from namekeeper.remoting.address import Address, bare_host, format_address

__all__ = ["Acceptor", "ListenOptions", "SocketOptions", "bind", "listen"]

ACCEPTS_PER_TURN = 64
"""Sockets accepted in a row; then the existing connections have their turn."""
RETRY_SECONDS = 0.5
"""Pause of accepting when the system has no descriptors or memory left."""

_OUT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}
_ANY_IPV6 = "::"
_MAPPED_IPV4 = "::ffff:"


class SocketOptions(NamedTuple):
    """Options of listening sockets; accepted sockets inherit the sizes of the buffers."""

    backlog: int = 1024
    """Connections that wait to be accepted."""
    send_buffer_bytes: int = 0
    """SO_SNDBUF; 0 leaves it to the system. Linux reports twice the requested size."""
    receive_buffer_bytes: int = 0
    """SO_RCVBUF, likewise."""


class ListenOptions(NamedTuple):
    """The address on which a server listens."""

    host: str = "0.0.0.0"  # noqa: S104 - Java's default: a name server is there to be reached
    """An address or a name of this machine, IPv6 with or without brackets."""
    port: int = 9876
    """0 picks a free one."""
    sockets: SocketOptions = SocketOptions()
    """Options for the kernel."""


async def bind(where: ListenOptions) -> list[socket.socket]:
    """Listen for brokers and clients, as `listen` does.

    Raises ConfigError in one line that names the remedy.
    """
    try:
        return await listen(*where)
    except OSError as error:
        raise ConfigError(_advice(format_address(bare_host(where.host), where.port), error)) from None


async def listen(host: str, port: int, options: SocketOptions) -> list[socket.socket]:
    """Listen on every address that `host` resolves to; with port 0 all get the same free port.

    Raises:
        OSError: that is impossible.
    """
    found = await asyncio.get_running_loop().getaddrinfo(
        bare_host(host) or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return _listen_on_all([(family, where) for family, _, _, _, where in dict.fromkeys(found)], options)


class Acceptor:
    """Accepts from listening sockets and hands each new socket on, until it is closed."""

    def __init__(
        self,
        sockets: list[socket.socket],
        *,
        has_room: Callable[[], bool],
        on_accept: Callable[[socket.socket, Address], None],
        on_refuse: Callable[[str], None],
        must_wait: Callable[[int], bool] = lambda _: False,
        frees_descriptor: Callable[[], bool] = lambda: False,
    ) -> None:
        """Start to accept.

        Args:
            sockets: listening ones; they belong to the acceptor from now on.
            has_room: whether one more connection is allowed.
            on_accept: gets the non-blocking socket and the peer's address.
            on_refuse: gets the reason why a new socket was closed.
            must_wait: whether further new sockets wait for the next iteration of the loop. It gets the number
                of sockets that this iteration has accepted.
            frees_descriptor: called when the process has no descriptor left. Whether it has ended another
                connection, whose descriptor is free in the next iteration: then the new socket waits.
        """
        self._loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._has_room, self._must_wait = has_room, must_wait
        self._frees_descriptor = frees_descriptor
        self._on_accept = on_accept
        self._on_refuse = on_refuse
        self._rests: asyncio.TimerHandle | None = None
        self._spare = -1
        """A spare descriptor: without another one, the acceptor closes it, so that it can accept a new socket
        and close that."""
        self._watch()

    @property
    def addresses(self) -> list[Address]:
        """The addresses on which it listens."""
        return [Address(*sock.getsockname()[:2]) for sock in self._sockets]

    def close(self) -> None:
        """Stop listening; the kernel resets the connections in its queue. May be called twice."""
        if self._rests is not None:
            self._rests.cancel()
        for sock in self._sockets:
            self._loop.remove_reader(sock.fileno())
            sock.close()
        self._sockets = []
        self._give_up_spare()

    def _watch(self) -> None:
        self._rests = None
        self._keep_spare()
        for sock in self._sockets:
            self._loop.add_reader(sock.fileno(), self._accept_some, sock)

    def _accept_some(self, listener: socket.socket) -> None:
        for accepted in range(ACCEPTS_PER_TURN):
            if self._must_wait(accepted):
                return
            try:
                sock, where = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._recover(listener, error)
                return
            if self._has_room():
                sock.setblocking(False)  # noqa: FBT003 - its name says it
                self._on_accept(sock, _peer(where))
            else:
                sock.close()
                self._on_refuse("too many connections")

    def _recover(self, listener: socket.socket, error: OSError) -> None:
        """Close the new socket that there is no descriptor for; if that fails too, pause."""
        if error.errno in _OUT_OF_DESCRIPTORS and self._frees_descriptor():
            return
        if error.errno in _OUT_OF_DESCRIPTORS and self._close_new_socket(listener):
            self._on_refuse(f"no file descriptors left ({error.strerror}): raise the limit, ulimit -n")
            return
        self._on_refuse(f"can't accept: {error.strerror}")
        for sock in self._sockets:
            self._loop.remove_reader(sock.fileno())
        self._rests = self._loop.call_later(RETRY_SECONDS, self._watch)

    def _close_new_socket(self, listener: socket.socket) -> bool:
        self._give_up_spare()
        try:
            listener.accept()[0].close()
        except OSError:
            return False
        return self._keep_spare()

    def _keep_spare(self) -> bool:
        if self._spare < 0:
            with contextlib.suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY)
        return self._spare >= 0

    def _give_up_spare(self) -> None:
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1


def _listen_on_all(
    addresses: Iterable[tuple[int, tuple[Any, ...]]], options: SocketOptions
) -> list[socket.socket]:
    """Listen on each address; skip one that this machine lacks, as often ::1 of a name."""
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, (host, port, *rest) in addresses:
            same_port = sockets[0].getsockname()[1] if sockets else port
            try:
                sockets.append(_listen(family, (host, same_port, *rest), options))
            except OSError as error:
                if error.errno not in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                    raise
                missing = error
        if missing is not None and not sockets:
            raise missing
    except OSError:
        for sock in sockets:
            sock.close()
        raise
    return sockets


def _listen(family: int, where: tuple[Any, ...], options: SocketOptions) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)  # noqa: FBT003 - its name says it
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted sockets inherit it
        for name, size in (
            (socket.SO_SNDBUF, options.send_buffer_bytes),
            (socket.SO_RCVBUF, options.receive_buffer_bytes),
        ):
            if size:
                sock.setsockopt(socket.SOL_SOCKET, name, size)
        if family == socket.AF_INET6:
            # The wildcard serves IPv4 too, as in Java.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, where[0] != _ANY_IPV6)
        sock.bind(where)
        sock.listen(options.backlog)
    except BaseException:
        sock.close()
        raise
    return sock


def _peer(where: tuple[Any, ...]) -> Address:
    host, port = where[:2]
    return Address(host.removeprefix(_MAPPED_IPV4) if "." in host else host, port)


def _advice(where: str, error: OSError) -> str:
    advice = {
        errno.EADDRINUSE: "another process listens there: stop it, or set another listenPort",
        errno.EACCES: "ports below 1024 need a privilege: set another listenPort",
        errno.EADDRNOTAVAIL: "this machine has no such address: correct bindAddress",
    }.get(error.errno or 0, "correct bindAddress or listenPort")
    return f"can't listen on {where}: {error.strerror}; {advice}"
