"""`clusterTest=true`: what nobody here has is looked up in another environment, and nothing else changes."""

import asyncio
import contextlib
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from namekeeper.app import cluster_test as module
from namekeeper.app.cluster_test import MAX_UNDER_WAY, ClusterTest
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.server import RemotingServer
from namekeeper.wire.command import Response
from tests.support.system.loops import both_loops
from tests.support.system.waiting import PATIENCE, eventually, turns
from tests.unit.app.parts import FakeClock, Parts, frame, name_server, registration, startup

LOCAL = "127.0.0.1"


@dataclass
class AddressServer:
    """Lists name servers over HTTP; says what it was asked."""

    text: str = ""
    status: int = 200
    asked: list[str] = field(default_factory=list)
    domain: str = ""
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(str(request.rel_url))
        await self.may_answer.wait()
        return web.Response(text=self.text, status=self.status)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A busy machine may take longer than a client should wait."""
    monkeypatch.setattr(module, "ASK_MS", int(module.ASK_MS * PATIENCE))
    for name in ("FETCH_SECONDS", "LOOKUP_SECONDS"):
        monkeypatch.setattr(module, name, getattr(module, name) * PATIENCE)


@pytest.fixture
async def address_server():
    server = AddressServer()
    server.may_answer.set()
    application = web.Application()
    application.router.add_get("/{path:.*}", server.answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, LOCAL, 0)
    await site.start()
    server.domain = f"{LOCAL}:{runner.addresses[0][1]}"
    yield server
    server.may_answer.set()
    await runner.cleanup()


def flags(address_server, **more):
    return {"cluster_test": "true", "namesrv_domain": address_server.domain, **more}


async def ask(client, server, code, body=b"", **fields):
    return await client.invoke(f"{LOCAL}:{server.port}", code, fields, body, timeout_ms=200_000)


async def register(client, server, topics, **more):
    asked = registration(topics, **more)
    assert (await ask(client, server, 103, asked.body, **asked.ext_fields)).code == 0


@both_loops
async def test_routes_of_the_other_environment_are_passed_on(tmp_path, address_server):
    async with (
        name_server(tmp_path / "there") as there,
        name_server(tmp_path / "here", **flags(address_server)) as here,
        RemotingClient() as client,
        RemotingClient() as broker,
    ):
        address_server.text = f"{LOCAL}:{there.port}\nmore\n"
        await register(client, there, ("both", "there"), name="broker-there", addr="10.0.0.2:10911")
        await register(broker, here, ("both", "here"), name="broker-here")
        for topic, broker_name in (
            ("both", b"broker-here"),
            ("here", b"broker-here"),
            ("there", b"broker-there"),
        ):
            answer = await ask(client, here, 105, topic=topic)
            assert answer.code == 0
            assert broker_name in answer.body
            assert b'brokerAddrs":{0:' in answer.body  # the legacy form, whoever asks
        answer = await ask(client, here, 105, topic="nowhere")
        assert answer.code == 17
        assert "for the topic: nowhere\nSee " in answer.remark
        assert address_server.asked == ["/rocketmq/nsaddr-center?nofix=1"]
        assert here.requests.by_result()[105, 0] == 3
        assert here.requests.by_result()[105, 17] == 1


@both_loops
async def test_the_order_configuration_is_attached_whatever_the_property_says(tmp_path, address_server):
    async with name_server(tmp_path, **flags(address_server)) as server, RemotingClient() as client:
        await register(client, server, ("T1", "T2"))
        await ask(client, server, 100, namespace="ORDER_TOPIC_CONFIG", key="T1", value="broker-a:4")
        assert b'"orderTopicConf":"broker-a:4"' in (await ask(client, server, 105, topic="T1")).body
        assert b"orderTopicConf" not in (await ask(client, server, 105, topic="T2")).body
        assert not address_server.asked


async def test_other_requests_are_served_as_ever(tmp_path, address_server):
    async with name_server(tmp_path, **flags(address_server)) as server, RemotingClient() as client:
        await register(client, server, ("T1", "T2"))
        cluster_info = await ask(client, server, 106)
        assert b'"brokerAddrs":{"0":' in cluster_info.body
        assert (await ask(client, server, 101, namespace="a", key="b")).code == 22
        assert (await ask(client, server, 4711)).code == 3
        assert (await ask(client, server, 105)).code == 17  # no topic: nothing to ask for
        assert not address_server.asked


async def test_there_is_neither_zone_nor_readiness_in_it(tmp_path, address_server):
    more = flags(address_server, need_wait_for_service="true")
    async with name_server(tmp_path, **more) as server, RemotingClient() as client:
        await register(client, server, ("T1", "T2"), zone_name="a")
        answer = await ask(client, server, 105, topic="T1", __ZONE_MODE="true", __ZONE_NAME="b")
        assert b"broker-a" in answer.body


async def test_acting_masters_are_shown_as_ever(tmp_path, address_server):
    more = flags(address_server, support_acting_master="true")
    async with name_server(tmp_path, **more) as server, RemotingClient() as client:
        await register(client, server, ("T1", "T2"), broker_id=1, enable_acting_master=True)
        assert b'{0:"10.0.0.1:10911"}' in (await ask(client, server, 105, topic="T1")).body


async def test_what_was_passed_on_is_not_passed_on_again(tmp_path, address_server):
    async with name_server(tmp_path, **flags(address_server)) as server, RemotingClient() as client:
        address_server.text = f"{LOCAL}:{server.port}"  # the other environment is this one
        assert (await ask(client, server, 105, topic="T")).code == 17
        assert server.requests.by_result()[105, 17] == 2


# The look-up by itself.


@pytest.fixture
def clock():
    return FakeClock()


@contextlib.asynccontextmanager
async def looking(tmp_path, address_server, clock, **more):
    cluster_test = ClusterTest(startup(tmp_path, **flags(address_server, **more)).settings, clock=clock)
    yield cluster_test
    await cluster_test.close()


@contextlib.asynccontextmanager
async def namesrv(handler):
    async with RemotingServer(handler, listen=ListenOptions(LOCAL, 0)) as server:
        yield str(server.addresses[0])


async def test_it_asks_as_an_old_client(tmp_path, address_server, clock):
    asked = []

    def answer(request, _):
        asked.append((request.code, request.version, request.ext_fields))
        return Response(body=b"route")

    async with namesrv(answer) as addr, looking(tmp_path, address_server, clock) as cluster_test:
        address_server.text = addr
        assert await cluster_test.route("T") == b"route"
        assert asked == [(105, 373, {"topic": "T", "__CLUSTER_TEST": "true"})]


@pytest.mark.parametrize("answer", [Response(17, "no"), Response(1, "busy"), Response()])
async def test_an_answer_without_a_route_is_none(tmp_path, address_server, clock, answer):
    async with namesrv(lambda *_: answer) as addr, looking(tmp_path, address_server, clock) as cluster_test:
        address_server.text = addr
        assert await cluster_test.route("T") is None


async def test_the_next_name_server_is_asked_when_one_is_away(tmp_path, address_server, clock, caplog):
    async with namesrv(lambda *_: Response()) as gone:
        pass
    async with (
        namesrv(lambda *_: Response(body=b"route")) as addr,
        looking(tmp_path, address_server, clock) as cluster_test,
    ):
        address_server.text = f"{gone};{addr}"
        assert await cluster_test.route("T") == b"route"
        assert f"clusterTest: {gone}: can't connect" in caplog.text


async def test_the_list_is_fetched_every_two_minutes(tmp_path, address_server, clock):
    async with (
        namesrv(lambda *_: Response(body=b"one")) as one,
        namesrv(lambda *_: Response(body=b"two")) as two,
        looking(tmp_path, address_server, clock) as cluster_test,
    ):
        address_server.text = one
        assert await asyncio.gather(*(cluster_test.route("T") for _ in range(20))) == [b"one"] * 20
        address_server.text = two
        clock.advance(119)
        assert await cluster_test.route("T") == b"one"
        assert len(address_server.asked) == 1
        clock.advance(1)
        assert await cluster_test.route("T") == b"two"
        assert len(address_server.asked) == 2


@pytest.mark.parametrize(
    ("page", "why"),
    [((404, ""), "status 404"), ((200, ""), "is empty"), ((200, "\n\n<html>"), "can't be used")],
)
async def test_an_old_list_is_better_than_none(tmp_path, address_server, clock, caplog, page, why):
    async with (
        namesrv(lambda *_: Response(body=b"route")) as addr,
        looking(tmp_path, address_server, clock) as cluster_test,
    ):
        address_server.text = addr
        assert await cluster_test.route("T") == b"route"
        address_server.status, address_server.text = page
        clock.advance(120)
        assert await cluster_test.route("T") == b"route"
        assert f"no list of name servers from http://{address_server.domain}/rocketmq" in caplog.text
        assert why in caplog.text


async def test_an_address_server_that_is_away_is_left_alone_for_a_while(
    tmp_path, address_server, clock, caplog
):
    address_server.status = 503
    async with looking(tmp_path, address_server, clock) as cluster_test:
        for _ in range(3):
            assert await cluster_test.route("T") is None
        assert len(address_server.asked) == 1
        clock.advance(10)
        assert await cluster_test.route("T") is None
        assert len(address_server.asked) == 2
        assert caplog.text.count("no list of name servers") == 2


async def test_an_address_server_that_says_nothing_is_given_up(
    tmp_path, address_server, clock, monkeypatch, caplog
):
    monkeypatch.setattr(module, "FETCH_SECONDS", 0.05)
    address_server.may_answer.clear()
    async with looking(tmp_path, address_server, clock) as cluster_test:
        assert await cluster_test.route("T") is None
        assert "no answer within 0.05 s" in caplog.text


@pytest.mark.parametrize("domain", ["127.0.0.1:1", "no such host:80", "[:1", "127.0.0.1:99999"])
async def test_an_address_server_that_can_not_be_reached_is_no_bug(
    tmp_path, address_server, clock, caplog, domain
):
    address_server.domain = domain
    async with looking(tmp_path, address_server, clock) as cluster_test:
        assert await cluster_test.route("T") is None
        assert "no list of name servers" in caplog.text


async def test_a_look_up_ends_in_time(tmp_path, address_server, clock, monkeypatch, caplog):
    monkeypatch.setattr(module, "LOOKUP_SECONDS", 0.05)
    address_server.may_answer.clear()
    received = []
    async with looking(tmp_path, address_server, clock) as cluster_test:
        cluster_test.look_up("T", received.append)
        await eventually(lambda: received)
        assert received == [None]
        assert "look-up of T given up" in caplog.text


async def test_a_bug_is_logged_and_answered(tmp_path, address_server, clock, monkeypatch, caplog):
    monkeypatch.setattr(module, "fetch_name_server_addresses", lambda *_, **__: 1 // 0)
    received = []
    async with looking(tmp_path, address_server, clock) as cluster_test:
        cluster_test.look_up("T", received.append)
        await eventually(lambda: received)
        assert "ZeroDivisionError" in caplog.text


async def test_how_many_are_under_way_is_limited_and_close_gives_them_up(tmp_path, address_server, clock):
    address_server.may_answer.clear()
    received = []
    async with looking(tmp_path, address_server, clock) as cluster_test:
        for _ in range(MAX_UNDER_WAY + 3):
            cluster_test.look_up("T", received.append)
        await turns()
        assert received == [None] * 3
    assert received == [None] * 3


@pytest.mark.parametrize(
    ("properties", "url"),
    [
        ({}, "http://jmenv.tbsite.net:8080/rocketmq/nsaddr-center?nofix=1"),
        ({"product_env_name": ""}, "http://jmenv.tbsite.net:8080/rocketmq/nsaddr"),
        (
            {"namesrv_domain": "a:80", "namesrv_domain_subgroup": "b", "product_env_name": "c"},
            "http://a:80/rocketmq/b-c?nofix=1",
        ),
    ],
)
def test_the_url_is_that_of_javas_clients(tmp_path, clock, properties, url):
    assert ClusterTest(startup(tmp_path, **properties).settings, clock=clock)._url == url


def test_javas_names_are_read():
    from namekeeper.config.startup import make_startup

    data = b"rocketmq.namesrv.domain=a\nrocketmq.namesrv.domain.subgroup=b\nclusterTest=true\n"
    settings = make_startup(file_data=data, environment={"NAMEKEEPER_NAMESRV_DOMAIN": "c"}).settings
    assert (settings.namesrv_domain, settings.namesrv_domain_subgroup, settings.cluster_test) == (
        "c",
        "b",
        True,
    )


async def test_without_it_nothing_is_looked_up_elsewhere(tmp_path):
    parts = Parts(tmp_path)
    asking = parts.connect()
    asking.deliver(frame(105, topic="T"))
    assert asking.answers[0].code == 17
