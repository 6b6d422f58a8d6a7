"""A client that watches asks for a changed route at once, and polls where it can't watch."""

import asyncio
import logging

import pytest

from namekeeper.client import watching as module
from namekeeper.client.client_config import ClientConfig
from namekeeper.client.instance import MQClientInstance
from namekeeper.client.watching import RouteWatcher, WatchAnswer, WatchedTopics, fetch_answer, watchers_of
from namekeeper.errors import ConfigError, RemotingError
from namekeeper.http.server import OperatorHttpServer
from namekeeper.remoting.address import Address
from namekeeper.remoting.page_address import PageAddress
from namekeeper.remoting.tls_settings import TlsSettings
from namekeeper.wire.codec import encode_command
from tests.support.system.waiting import PATIENCE, eventually
from tests.support.wire.peer import connect
from tests.unit.app.parts import name_server, registration
from tests.unit.http.test_server import Site


class EndOfTestError(Exception):
    """What ends the endless loop."""


class Watched:
    """A name server that answers what the test says, in turn; then the watching ends."""

    def __init__(self, *answers: WatchAnswer | RemotingError, topics: tuple[str, ...] = ("A", "B")) -> None:
        self.answers = list(answers)
        self.topics = topics
        self.asked: list[str] = []
        self.updated: list[str] = []
        self.slept: list[float] = []

    async def fetch(self, url: str) -> WatchAnswer:
        self.asked.append(url)
        if not self.answers:
            raise EndOfTestError
        answer = self.answers.pop(0)
        if isinstance(answer, RemotingError):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if not self.topics:
            raise EndOfTestError

    async def run(self) -> "Watched":
        watcher = RouteWatcher(
            PageAddress(Address("ns", 1)),
            lambda: self.topics,
            self.updated.append,
            sleep=self.sleep,
            fetch=self.fetch,
        )
        with pytest.raises(EndOfTestError):
            await watcher.run()
        return self


def changed(revision: str, *topics: str) -> WatchAnswer:
    return WatchAnswer(revision, [WatchedTopics([topic]) for topic in topics])


def failure() -> RemotingError:
    return RemotingError("ns:1", "its routes can't be watched: status 503")


async def test_a_changed_topic_is_asked_for_and_the_next_watch_goes_on_from_there():
    watched = await Watched(changed("1-5"), changed("1-7", "B", "B")).run()
    assert watched.updated == ["B"]
    assert watched.asked == [
        "http://ns:1/watch?topic=A&topic=B",
        "http://ns:1/watch?topic=A&topic=B&after=1-5",
        "http://ns:1/watch?topic=A&topic=B&after=1-7",
    ]


async def test_when_changes_are_gone_every_topic_is_asked_for():
    watched = await Watched(changed("1-5"), WatchAnswer("2-1", gone=True)).run()
    assert watched.updated == ["A", "B"]
    assert watched.asked[-1].endswith("&after=2-1")


async def test_a_topic_that_comes_later_is_asked_for_once():
    watched = Watched(changed("1-5"), changed("1-5"), changed("1-5"))
    answers = watched.fetch

    async def fetch(url: str) -> WatchAnswer:
        answer = await answers(url)
        watched.topics = ("A", "B", "C")
        return answer

    watched.fetch = fetch
    assert (await watched.run()).updated == ["C"]


async def test_who_can_not_be_watched_is_tried_again_later_and_later(caplog):
    watched = await Watched(*(failure() for _ in range(7)), changed("1-5"), failure()).run()
    assert watched.slept == [1, 2, 4, 8, 16, 30, 30, 1]
    assert [record.getMessage() for record in caplog.records] == [
        "ns:1: its routes can't be watched: status 503; routes are polled only",
        "ns:1: routes are watched again",
        "ns:1: its routes can't be watched: status 503; routes are polled only",
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


async def test_after_a_failure_nothing_is_missed():
    watched = await Watched(changed("1-5"), failure(), changed("1-7", "A")).run()
    assert watched.asked[2].endswith("&after=1-5")
    assert watched.updated == ["A"]


async def test_without_topics_nobody_is_asked():
    watched = await Watched(topics=()).run()
    assert (watched.asked, watched.slept) == ([], [1.0])


async def test_one_watch_has_room_for_so_many_topics(monkeypatch):
    watched = await Watched(topics=tuple(f"T{number}" for number in range(300))).run()
    assert watched.asked[0].count("topic=") == 200
    watched = await Watched(topics=("x" * 3_000, "y" * 3_000)).run()
    assert watched.asked[0].count("topic=") == 1


def test_there_is_a_watcher_for_each_address():
    two = ClientConfig("ns:1", watch_addr="a:1;b:2")
    assert len(watchers_of(two, tuple, print, sleep=asyncio.sleep)) == 2
    assert watchers_of(ClientConfig("ns:1"), tuple, print, sleep=asyncio.sleep) == []


def test_only_pages_of_https_need_certificates():
    tls = TlsSettings(client_trust_cert_path="/nowhere.pem")
    plain = ClientConfig("ns:1", watch_addr="a:1", tls=tls)
    assert watchers_of(plain, tuple, print, sleep=asyncio.sleep)
    with pytest.raises(ConfigError, match=r"tls\.client\.trustCertPath=/nowhere\.pem can't be used"):
        watchers_of(
            ClientConfig("ns:1", watch_addr="https://a:1", tls=tls), tuple, print, sleep=asyncio.sleep
        )


async def test_an_answer_is_fetched_over_http():
    async with (site := Site()).server:
        base = f"http://127.0.0.1:{site.server.port}"
        assert await fetch_answer(f"{base}/watch?topic=A") == WatchAnswer("5-7")
        site.watch.first = None
        assert (await fetch_answer(f"{base}/watch?topic=A&after=1-1")).gone
        with pytest.raises(RemotingError, match="status 404"):
            await fetch_answer(f"{base}/nowhere")
        with pytest.raises(RemotingError, match="can't be watched"):
            await fetch_answer(f"{base}/healthz")
    with pytest.raises(RemotingError, match=r"^127\.0\.0\.1:\d+: its routes can't be watched: "):
        await fetch_answer(f"{base}/watch?topic=A")


async def test_no_answer_in_time_is_a_failure(monkeypatch):
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.01)
    async with (site := Site()).server:
        with pytest.raises(RemotingError, match="no answer"):
            await fetch_answer(f"http://127.0.0.1:{site.server.port}/watch?topic=A&after=5-7")


async def test_a_client_that_watches_has_the_new_route_long_before_it_polls(tmp_path, monkeypatch):
    ports = []
    entered = OperatorHttpServer.__aenter__

    async def enter(server):
        await entered(server)
        ports.append(server.port)
        return server

    monkeypatch.setattr(OperatorHttpServer, "__aenter__", enter)
    async with name_server(tmp_path, http_port="0", journal_enable="false") as server:
        await eventually(lambda: ports)
        config = ClientConfig(
            f"127.0.0.1:{server.port}", watch_addr=f"127.0.0.1:{ports[0]}",
            poll_name_server_interval_ms=3_600_000,
        )  # fmt: skip
        async with MQClientInstance(config) as client, client.events("T1") as events:
            await eventually(lambda: len(server._watch) == 1, within_seconds=30)
            async with connect(server.server.addresses[0]) as broker:
                await broker.send(encode_command(registration()))
                assert (await asyncio.wait_for(anext(events), 30 * PATIENCE)).topic == "T1"
