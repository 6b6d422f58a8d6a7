import pytest

from namekeeper.client.route_request import fetch_route
from namekeeper.errors import RemotingError, ResponseError
from namekeeper.wire.command import RemotingCommand
from tests.unit.client.world import route, route_body


class RequestSender:
    """Gives one answer."""

    def __init__(self, answer: RemotingCommand) -> None:
        self.answer = answer
        self.asked: list[object] = []

    async def invoke(self, addr, code, ext_fields=None, body=b"", *, timeout_ms=3_000):
        self.asked.append((addr, code, ext_fields, timeout_ms))
        return self.answer


async def fetched(answer: RemotingCommand, **more):
    return await fetch_route(RequestSender(answer), "ns:1", "T", timeout_ms=7, **more)


async def test_it_asks_for_the_topic_in_standard_json():
    sender = RequestSender(RemotingCommand(body=route_body()))
    found = await fetch_route(sender, "ns:1", "T", timeout_ms=7)
    assert found is not None
    assert found.route == route()
    assert sender.asked == [("ns:1", 105, {"topic": "T", "acceptStandardJsonOnly": "true"}, 7)]


async def test_bytes_that_are_known_are_not_read_again():
    first = await fetched(RemotingCommand(body=route_body()))
    again = await fetched(RemotingCommand(body=route_body()), known_digest=first.digest)
    assert again is not None
    assert (again.digest, again.route) == (first.digest, None)
    other = await fetched(RemotingCommand(body=route_body(count=8)), known_digest=first.digest)
    assert other is not None
    assert other.route == route(count=8)


@pytest.mark.parametrize(
    "answer",
    [
        RemotingCommand(code=17),
        RemotingCommand(body=b'{"brokerDatas":[],"queueDatas":[]}'),
        RemotingCommand(body=b"{}"),
    ],
)
async def test_no_such_topic_is_none(answer):
    assert await fetched(answer) is None


@pytest.mark.parametrize("code", [1, 2, 3, 1500])
async def test_another_code_is_an_error_with_it(code):
    with pytest.raises(ResponseError, match="not ready") as caught:
        await fetched(RemotingCommand(code=code, remark="not ready"))
    assert (caught.value.code, caught.value.addr) == (code, "ns:1")


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"brokerDatas":7}', b"\xff"])
async def test_a_body_that_is_no_route_is_an_error_that_names_the_server(body):
    with pytest.raises(RemotingError, match=r"ns:1: its route of T can't be read.*is it RocketMQ"):
        await fetched(RemotingCommand(body=body))
