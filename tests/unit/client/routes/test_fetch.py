import pytest
from msgspec import convert, to_builtins

from namekeeper.client.routes import fetch
from namekeeper.client.routes.fetch import RouteInterner, fetch_route
from namekeeper.errors import RemotingError, ResponseError
from namekeeper.model.route import TopicRouteData
from namekeeper.wire.command import RemotingCommand
from tests.unit.client.world import broker, queues, route, route_body


def fresh(value: TopicRouteData) -> TopicRouteData:
    return convert(to_builtins(value, str_keys=True), TopicRouteData, strict=False)


def test_equal_parts_are_one_object_and_routes_stay_equal():
    interner = RouteInterner()
    first, second = interner.intern(fresh(route("a", "b"))), interner.intern(fresh(route("a", "b")))
    assert first == second == route("a", "b")
    assert first is not second
    for one, other in zip(
        first.broker_datas + first.queue_datas, second.broker_datas + second.queue_datas, strict=True
    ):
        assert one is other


def test_a_changed_broker_is_not_taken_for_the_old_one():
    interner = RouteInterner()
    interner.intern(TopicRouteData([broker("a", {0: "x:1"}, cluster="C1")], [queues("a")]))
    moved = TopicRouteData([broker("a", {0: "y:1"}, cluster="C1")], [queues("a", 8)])
    assert interner.intern(moved) == moved
    other_cluster = TopicRouteData([broker("a", {0: "y:1"}, cluster="C2")], [queues("a", 8)])
    assert interner.intern(other_cluster).broker_datas[0].cluster == "C2"


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(fetch, "MAX_KINDS", 10)
    interner = RouteInterner()
    for n in range(100):
        interner.intern(route(f"b{n}", count=n))
    assert len(interner._brokers) <= 11
    assert len(interner._queues) <= 11


def test_all_other_parts_are_kept():
    whole = TopicRouteData([broker()], [queues()], {"a": ["f"]}, "broker-a:4", {})
    assert RouteInterner().intern(whole) == whole


class RequestSender:
    """Gives one answer."""

    def __init__(self, answer: RemotingCommand) -> None:
        self.answer = answer
        self.asked: list[object] = []

    async def invoke(self, addr, code, ext_fields=None, body=b"", *, timeout_ms=3_000):
        self.asked.append((addr, code, ext_fields, timeout_ms))
        return self.answer


async def fetched(answer: RemotingCommand, **more):
    return await fetch_route(RequestSender(answer), "ns:1", "T", timeout_ms=7_000, **more)


async def test_it_asks_for_the_topic_in_standard_json():
    sender = RequestSender(RemotingCommand(body=route_body()))
    found = await fetch_route(sender, "ns:1", "T", timeout_ms=7_000)
    assert found is not None
    assert found.route == route()
    assert sender.asked == [("ns:1", 105, {"topic": "T", "acceptStandardJsonOnly": "true"}, 7_000)]


async def test_bytes_that_are_known_are_not_read_again():
    first = await fetched(RemotingCommand(body=route_body()))
    again = await fetched(RemotingCommand(body=route_body()), last_digest=first.digest)
    assert again is not None
    assert (again.digest, again.route) == (first.digest, None)
    other = await fetched(RemotingCommand(body=route_body(count=8)), last_digest=first.digest)
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
