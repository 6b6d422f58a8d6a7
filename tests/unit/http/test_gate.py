"""Connections of watchers and of the other pages: how many there may be of each, and for how long."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest

from namekeeper.http import gate
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.unit.http.test_server import Site


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    async with site.server:
        yield site


async def test_watchers_take_no_room_from_other_pages(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "MAX_CONNECTIONS", 2)
    polls = []
    for number in range(1, 6):
        polls.append(asyncio.ensure_future(site.ask("/watch?topic=A&after=5-7")))
        await eventually(lambda number=number: len(site.watch.watchers) == number)
    assert (await site.ask("/healthz")).status == 200
    await site.server.close()
    assert [answer.status for answer in await asyncio.gather(*polls)] == [200] * 5


class Server:
    """Makes connections without sockets."""

    connections = ()

    def __call__(self) -> SimpleNamespace:
        return type("Connection", (SimpleNamespace,), {"__hash__": object.__hash__})(transport=object())


async def test_a_watcher_outlasts_the_connections_of_other_pages() -> None:
    entered = gate.Gate(Server())
    entered()
    ((connection, end),) = entered._ends.items()
    assert not end.cancelled()
    entered.keep(connection)
    assert end.cancelled()
    entered.release(connection)
    (end,) = entered._ends.values()
    assert not end.cancelled()
    connection.transport = None
    entered._end(connection)
    assert entered._ends == {}
    entered.keep(connection)
    entered.release(connection)  # its peer has left meanwhile
    assert entered._ends == {}


@both_loops
async def test_who_sends_more_than_a_request_is_disconnected(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Headers without an end were kept: 60 connections held 500 MiB."""
    monkeypatch.setattr(gate, "MAX_REQUEST_BYTES", 1_000)
    begin, lines = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n", b"X: " + b"v" * 100 + b"\r\n"
    for count, is_answered in ((5, True), (10, False)):
        reader, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
        writer.write(begin + count * lines + b"\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert (await reader.read()).startswith(b"HTTP/1.1 200") == is_answered
        writer.close()


@both_loops
async def test_nothing_of_a_connection_stays_when_it_is_gone(site: Site) -> None:
    kept = site.server._gate
    for number in range(1, 6):
        assert (await site.ask("/healthz")).status == 200
        _, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
        writer.close()  # without a request
        poll = asyncio.ensure_future(site.ask("/watch?topic=A&after=5-7"))
        await eventually(lambda number=number: len(site.watch.watchers) == number)
        poll.cancel()
    await eventually(lambda: (kept._idle, kept._ends, kept._kept) == ({}, {}, set()))
