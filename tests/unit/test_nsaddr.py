import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from namekeeper.errors import ConfigError
from namekeeper.nsaddr import AddressServer, address_server_url, fetch_name_server_addresses
from tests.support.system.fake_time import FakeTime
from tests.support.system.waiting import PATIENCE, turns


@pytest.mark.parametrize(
    ("domain", "more", "url"),
    [
        ("jmenv.tbsite.net", {}, "http://jmenv.tbsite.net:8080/rocketmq/nsaddr"),
        ("ns:80", {"subgroup": "sub"}, "http://ns:80/rocketmq/sub"),
        ("ns", {"unit_name": "u1"}, "http://ns:8080/rocketmq/nsaddr-u1?nofix=1"),
        ("https://ns/list", {}, "https://ns/list"),
    ],
)
def test_where_the_list_is(domain, more, url):
    assert address_server_url(domain, **more) == url


def test_an_empty_domain_is_refused():
    with pytest.raises(ConfigError, match="domain is empty"):
        address_server_url(" ")


@contextlib.asynccontextmanager
async def page(*pieces: bytes, status: str = "200 OK") -> AsyncIterator[str]:
    """An HTTP server with one page, sent in pieces."""

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        length = sum(map(len, pieces))
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n".encode())
        with contextlib.suppress(OSError):  # who has read enough leaves
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await turns()
            writer.write_eof()
            await reader.read()
        writer.transport.abort()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"http://{host}:{port}/rocketmq/nsaddr"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"a:1;b:2\n"], ["a:1", "b:2"]),
        ([b" a:1 ; [::1]:2 ;\r\nignored"], ["a:1", "[::1]:2"]),
        ([b"a:98", b"76;b:98", b"76"], ["a:9876", "b:9876"]),
    ],
)
async def test_the_first_line_is_the_list(pieces, expected):
    async with page(*pieces) as url:
        assert await fetch_name_server_addresses(url, timeout_seconds=PATIENCE) == expected


@pytest.mark.parametrize(
    ("pieces", "status", "says"),
    [
        ([b""], "200 OK", "list '' is empty: write host:port;host:port"),
        ([b"<html>"], "200 OK", "'<html>' can't be used: write host:port"),
        ([b"a:1"], "404 Not Found", "status 404; check the address server"),
        ([b"x" * 200_000], "200 OK", "write host:port"),
    ],
)
async def test_a_page_that_is_no_list_is_an_error_that_names_it(pieces, status, says):
    async with page(*pieces, status=status) as url:
        with pytest.raises(ConfigError, match=says) as caught:
            await fetch_name_server_addresses(url, timeout_seconds=PATIENCE)
        assert url in str(caught.value)


async def test_nobody_there_and_no_answer_are_errors_too():
    with pytest.raises(ConfigError, match="check the address server"):
        await fetch_name_server_addresses("http://127.0.0.1:1/rocketmq/nsaddr", timeout_seconds=PATIENCE)

    async def never(reader, writer):
        await reader.read()
        writer.close()

    async with await asyncio.start_server(never, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        with pytest.raises(ConfigError, match=r"no answer within 0\.1 s"):
            await fetch_name_server_addresses(f"http://{host}:{port}/", timeout_seconds=0.1)


class TestAsking:
    async def test_every_two_minutes_and_more_often_while_there_is_no_list(self, caplog):
        time = FakeTime()
        pages: list[object] = [
            ConfigError("away"),
            ConfigError("away"),
            ["a:1"],
            ConfigError("later"),
            ["b:2"],
        ]
        lists: list[list[str]] = []

        async def fetch(url: str) -> list[str]:
            assert url == "http://ns"
            found = pages.pop(0)
            if isinstance(found, Exception):
                raise found
            return found

        server = AddressServer("http://ns", lists.append, fetch=fetch, sleep=time.sleep)
        assert not await server.ask()
        assert str(server.failure) == "away"
        task = asyncio.ensure_future(server.keep_asking())
        await time.advance(21)
        assert lists == [["a:1"]]
        assert server.failure is None
        await time.advance(240)
        assert lists == [["a:1"], ["b:2"]]
        assert time.slept[:4] == [10, 10, 120, 120]
        assert "later; the list from before stays in use" in caplog.text
        task.cancel()
