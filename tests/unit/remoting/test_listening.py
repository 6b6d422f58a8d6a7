import asyncio
import errno
import os
import socket

import pytest

from namekeeper.errors import ConfigError
from namekeeper.remoting import listening as module
from namekeeper.remoting.address import Address
from namekeeper.remoting.listening import Acceptor, ListenOptions, SocketOptions, bind
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually

LOCAL = "127.0.0.1"


class Failing:
    """A listening socket whose accept fails at first."""

    def __init__(self, sock: socket.socket, *errors: int) -> None:
        self._sock = sock
        self._errors = list(errors)
        self.calls = 0

    def accept(self):
        self.calls += 1
        if self._errors:
            code = self._errors.pop(0)
            raise OSError(code, os.strerror(code))
        return self._sock.accept()

    def __getattr__(self, name: str):
        return getattr(self._sock, name)


class Accepted:
    """An acceptor, and what it did."""

    def __init__(self, sockets, **settings) -> None:
        self.accepted: list[Address] = []
        self.refused: list[str] = []
        self.acceptor = Acceptor(
            sockets, has_room=lambda: True, on_accept=self._accept, on_refuse=self.refused.append, **settings
        )

    def _accept(self, sock: socket.socket, peer: Address) -> None:
        self.accepted.append(peer)
        assert not sock.getblocking()
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        sock.close()


@pytest.fixture
async def knock():
    """Connect without blocking; returns nothing."""
    sockets: list[socket.socket] = []

    async def knock(where: tuple[str, int], count: int = 1) -> None:
        for _ in range(count):
            sock = socket.socket()
            sock.setblocking(False)
            sockets.append(sock)
            await asyncio.get_running_loop().sock_connect(sock, where)

    yield knock
    for sock in sockets:
        sock.close()


@both_loops
async def test_more_than_a_batch_is_accepted(knock):
    (sock,) = await bind(ListenOptions(LOCAL, 0, SocketOptions(1024)))
    done = Accepted([sock])
    await knock(sock.getsockname(), module.ACCEPTS_PER_TURN + 10)
    await eventually(lambda: len(done.accepted) == module.ACCEPTS_PER_TURN + 10)
    done.acceptor.close()
    done.acceptor.close()
    assert done.acceptor.addresses == []


@both_loops
async def test_a_newcomer_without_a_descriptor_is_closed_with_the_spare_one(knock):
    (sock,) = await bind(ListenOptions(LOCAL, 0, SocketOptions(16)))
    failing = Failing(sock, errno.EMFILE)
    done = Accepted([failing])
    await knock(sock.getsockname())
    await eventually(lambda: done.refused)
    assert "ulimit -n" in done.refused[0]
    assert done.accepted == []
    await knock(sock.getsockname())
    await eventually(lambda: done.accepted)
    done.acceptor.close()


@both_loops
async def test_a_newcomer_waits_while_another_connection_gives_its_descriptor(knock):
    """Health was reset: the connections of the protocol port had left it no descriptor."""
    (sock,) = await bind(ListenOptions(LOCAL, 0, SocketOptions(16)))
    ended = []
    done = Accepted([Failing(sock, errno.EMFILE)], frees_descriptor=lambda: not ended.append(1))
    await knock(sock.getsockname())
    await eventually(lambda: done.accepted)
    assert (ended, done.refused) == ([1], [])
    done.acceptor.close()


@pytest.mark.parametrize("errors", [(errno.EMFILE, errno.EMFILE), (errno.ENOBUFS,)])
@both_loops
async def test_accepting_rests_when_nothing_helps(knock, errors, monkeypatch):
    monkeypatch.setattr(module, "RETRY_SECONDS", 1.0)
    (sock,) = await bind(ListenOptions(LOCAL, 0, SocketOptions(16)))
    failing = Failing(sock, *errors)
    done = Accepted([failing])
    await knock(sock.getsockname())
    await eventually(lambda: done.refused)
    calls = failing.calls
    assert calls == len(errors)
    await eventually(lambda: done.accepted)
    assert failing.calls <= calls + 2
    done.acceptor.close()


async def test_closing_while_it_rests_is_fine(knock):
    (sock,) = await bind(ListenOptions(LOCAL, 0, SocketOptions(16)))
    done = Accepted([Failing(sock, errno.ENOMEM)])
    await knock(sock.getsockname())
    await eventually(lambda: done.refused)
    done.acceptor.close()


async def test_a_connection_that_was_aborted_before_it_was_accepted_is_nothing(knock):
    (sock,) = await bind(ListenOptions(LOCAL, 0, SocketOptions(16)))
    done = Accepted([Failing(sock, errno.ECONNABORTED)])
    await knock(sock.getsockname())
    await eventually(lambda: done.accepted)
    assert not done.refused
    done.acceptor.close()


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.EACCES, "privilege"),
        (errno.EADDRINUSE, "another process"),
        (errno.EPERM, "correct bindAddress or"),
    ],
)
async def test_what_stands_in_the_way_comes_with_advice(code: int, advice: str, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(module, "_listen", fail)
    with pytest.raises(ConfigError, match=advice):
        await bind(ListenOptions(LOCAL, 1, SocketOptions(1)))


async def test_one_address_that_is_taken_refuses_all(monkeypatch):
    bound: list[socket.socket] = []
    listen = module._listen

    def only_one(family: int, where, backlog: int) -> socket.socket:
        if bound:
            raise OSError(errno.EADDRINUSE, "in use")
        bound.append(listen(family, where, backlog))
        return bound[0]

    async def two(*_: object, **__: object):
        return [(socket.AF_INET, 1, 6, "", (LOCAL, 0)), (socket.AF_INET, 1, 6, "", ("127.0.0.2", 0))]

    monkeypatch.setattr(module, "_listen", only_one)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", two)
    with pytest.raises(ConfigError, match="another process"):
        await bind(ListenOptions("name", 0, SocketOptions(1)))
    assert bound[0].fileno() == -1


async def test_an_address_that_is_missing_here_is_left_out_if_there_are_others(monkeypatch):
    listen = module._listen

    def without_ipv6(family: int, where, backlog: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EADDRNOTAVAIL, "missing")
        return listen(family, where, backlog)

    async def both(*_: object, **__: object):
        return [(socket.AF_INET6, 1, 6, "", ("::1", 0, 0, 0)), (socket.AF_INET, 1, 6, "", (LOCAL, 0))]

    monkeypatch.setattr(module, "_listen", without_ipv6)
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", both)
    (sock,) = await bind(ListenOptions("localhost", 0, SocketOptions(1)))
    assert sock.family == socket.AF_INET
    sock.close()
