"""Operators' pages are asked who has asked for a topic."""

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from namekeeper.errors import RemotingConnectError, RemotingError
from namekeeper.http.asking_who_knows import ask_who_knows
from namekeeper.remoting.address import Address
from namekeeper.remoting.page_address import PageAddress
from tests.unit.http.test_server import who_knows


def pages(*ports: int) -> list[PageAddress]:
    return [PageAddress(Address("127.0.0.1", port)) for port in ports]


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        (
            web.Response(status=404, text="set rememberLookups=true\n"),
            RemotingError,
            "set rememberLookups=true",
        ),
        (web.Response(body=b'{"topic":"\xff"}'), RemotingConnectError, "is that its port for operators"),
        (web.Response(body=b'{"a":' * 100_000), RemotingConnectError, "is that its port for operators"),
        (web.Response(text="{"), RemotingConnectError, "is that its port for operators"),
        (web.Response(text='{"a":' + "[" * 200_000), RemotingConnectError, "is that its port for operators"),
        (None, RemotingConnectError, "is that its port for operators"),
    ],
)
async def test_what_a_name_server_answers_is_read(given, kind, said):
    async def answer(request):
        assert (request.query["topic"], request.headers["Authorization"]) == ("a&b", "Bearer secret")
        if given is None:
            request.transport.abort()
        return given or web.Response()

    application = web.Application()
    application.router.add_get("/who-knows", answer)
    async with TestServer(application) as server:
        (error,) = await ask_who_knows(pages(server.port), "a&b", token="secret")
    assert (type(error), said in str(error)) == (kind, True)


async def test_one_that_can_not_say_hides_no_other_one():
    async def answer(_request):
        return web.Response(body=msgspec.json.encode(who_knows("T")))

    application = web.Application()
    application.router.add_get("/who-knows", answer)
    async with TestServer(application) as server:
        gone, known = await ask_who_knows(pages(1, server.port), "T", token="")
    assert isinstance(gone, RemotingConnectError)
    assert known == who_knows("T")
