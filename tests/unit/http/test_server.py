import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest

from namekeeper import __version__
from namekeeper.access.peer import Peer
from namekeeper.http import page_server as module
from namekeeper.http import server
from namekeeper.http.health import HealthState, Phase
from namekeeper.http.server import OperatorHttpServer, PageAccess, PageSources
from namekeeper.http.stats import JournalStats, NameServerStats
from namekeeper.http.watchers import WhoKnows
from namekeeper.remoting.log_limit import LINES, LogLimit
from namekeeper.remoting.tls import TlsContexts
from tests.support.system.loops import both_loops
from tests.support.system.waiting import eventually
from tests.unit.http.watching import Watching

FAR = 3_600.0


@dataclass
class Answer:
    status: int
    text: str
    headers: dict[str, str]


@dataclass
class Site:
    """A server on loopback, what it is told about the name server, and a client."""

    state: HealthState = field(default_factory=lambda: HealthState(phase=Phase.SERVING))
    nsaddr: str = "10.0.0.1:9876;10.0.0.2:9876"
    topics: int = 7
    journal: JournalStats | None = None

    remembers: bool = True
    tls: TlsContexts | None = None

    def __post_init__(self) -> None:
        self.watch = Watching()
        self.server = OperatorHttpServer(
            "127.0.0.1", 0, PageSources(metrics=self.stats, health=lambda: self.state, nsaddr=lambda: self.nsaddr,
            journal=lambda: self.journal, watch=self.watch, who_knows=who_knows if self.remembers else None),
            PageAccess(tls=self.tls),
        )  # fmt: skip

    def stats(self) -> NameServerStats:
        if self.topics < 0:
            raise RuntimeError("a bug")
        return NameServerStats(
            version="1", start_time_seconds=1.0, topics=self.topics,
            front="native", cached_lookups=5, uncached_lookups=3, front_lookups=2,
        )  # fmt: skip

    async def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.server.port}{path}"
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, headers=headers, ssl=False) as response,
        ):
            return Answer(response.status, await response.text(), dict(response.headers))


def who_knows(topic: str) -> WhoKnows:
    """What is known of every topic."""
    return WhoKnows(
        topic=topic, revision="5-7", change=None, connections=1, since_count=1, before_count=0,
        since=["a:1"], before=[],
    )  # fmt: skip


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    async with site.server:
        yield site


@pytest.mark.parametrize(
    "path", ["/", "/healthz", "/readyz", "/status", "/metrics", "/nowhere", "/rocketmq/nsaddr"]
)
async def test_every_answer_has_the_revision_once_it_is_known(site: Site, path: str) -> None:
    assert (await site.ask(path)).headers["Namekeeper-Revision"] == "5-7"
    site.watch.present = None
    assert "Namekeeper-Revision" not in (await site.ask(path)).headers


async def test_the_index_names_every_page(site: Site) -> None:
    answer = await site.ask("/")

    assert answer.status == 200
    for path in ("/metrics", "/healthz", "/readyz", "/status", "/rocketmq/nsaddr"):
        assert path in answer.text


@both_loops
async def test_metrics_are_rendered_one_after_the_other(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    may_end = threading.Event()

    def render(stats: NameServerStats, _accept: str) -> tuple[bytes, str]:
        begun.append(stats.topics)
        may_end.wait(FAR)
        return b"metrics", "text/plain"

    monkeypatch.setattr(server, "render_metrics", render)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(site.ask("/metrics")) for _ in range(3)]
        await eventually(lambda: begun)
        for _ in asked:
            await site.ask("/healthz")
        assert len(begun) == 1
        may_end.set()
    assert [each.result().text for each in asked] == ["metrics"] * 3
    assert len(begun) == 3


@both_loops
async def test_metrics_are_those_of_now(site: Site) -> None:
    assert "\nrocketmq_namesrv_topics 7.0\n" in (await site.ask("/metrics")).text
    site.topics = 8
    answer = await site.ask("/metrics")

    assert "\nrocketmq_namesrv_topics 8.0\n" in answer.text
    assert answer.headers["Content-Type"].startswith("text/plain; version=")


async def test_healthz_says_that_the_process_runs(site: Site) -> None:
    site.state = HealthState(phase=Phase.DRAINING)
    answer = await site.ask("/healthz")

    assert (answer.status, answer.text) == (200, '{"status":"ok"}')
    assert answer.headers["Content-Type"] == "application/json"


async def test_status_is_everything_in_json_and_always_200(site: Site) -> None:
    value = json.loads((await site.ask("/status")).text)
    assert value == {
        "version": __version__, "status": "ok", "ready": True, "reasons": {}, "restored": "", "revision": "5-7",
        "journal": None,
        "lookups": {
            "front": "native", "cached": 5, "uncached": 3, "front_lookups": 2, "front_connections": 0,
            "front_loans": 0, "front_failures": 0,
        },
    }  # fmt: skip
    site.journal = JournalStats(last_seq=9, durable_seq=7, namesrv="ns", boot=5)
    site.state = HealthState(phase=Phase.DRAINING, degraded={"journal": "the disk is full"})
    answer = await site.ask("/status")
    value = json.loads(answer.text)
    assert answer.status == 200
    assert (value["journal"]["durable_seq"], value["journal"]["boot"]) == (7, 5)
    assert value["reasons"]["journal"] == "the disk is full"


async def test_readyz_tells_clients_to_stay_away_while_it_drains(site: Site) -> None:
    assert (
        await site.ask("/readyz")
    ).text == '{"status":"ok","ready":true,"reasons":{},"restored":"","revision":"5-7"}'
    site.state = HealthState(phase=Phase.DRAINING)
    answer = await site.ask("/readyz")

    assert answer.status == 503
    assert (
        answer.text
        == '{"status":"draining","ready":false,"reasons":{"draining":"it is stopping"},"restored":"","revision":"5-7"}'
    )


@pytest.mark.parametrize(
    ("query", "status"), [("", 200), ("?strict=0", 200), ("?strict=1", 503), ("?strict=true", 503)]
)
async def test_degraded_is_unready_for_the_strict_only(site: Site, query: str, status: int) -> None:
    site.state = HealthState(phase=Phase.SERVING, degraded={"journal": "full"})
    answer = await site.ask(f"/readyz{query}")

    assert answer.status == status
    assert '"reasons":{"journal":"full"}' in answer.text


@pytest.mark.parametrize("path", ["/rocketmq/nsaddr", "/rocketmq/nsaddr-unit1?nofix=1"])
async def test_the_address_list_is_one_line_of_text(site: Site, path: str) -> None:
    answer = await site.ask(path)

    assert (answer.status, answer.text) == (200, "10.0.0.1:9876;10.0.0.2:9876\n")
    assert answer.headers["Content-Type"].startswith("text/plain")


async def test_without_an_address_list_it_says_what_to_set(site: Site) -> None:
    site.nsaddr = ""
    answer = await site.ask("/rocketmq/nsaddr")

    assert answer.status == 404
    assert "addressServerList" in answer.text


@pytest.mark.parametrize("path", ["/nope", "/metrics/", "/rocketmq/nsaddrx", "/rocketmq/nsaddr-a/b"])
async def test_unknown_paths_are_answered_in_a_line(site: Site, path: str) -> None:
    answer = await site.ask(path)

    assert (answer.status, answer.text) == (404, f"nothing at {path}; / lists what there is\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_other_methods_are_refused(site: Site, method: str) -> None:
    answer = await site.ask("/metrics", method)

    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS"
    assert "read only" in answer.text


async def test_head_is_answered_without_a_body(site: Site) -> None:
    answer = await site.ask("/readyz", "HEAD")

    assert (answer.status, answer.text) == (200, "")


async def test_a_bug_is_logged_and_answered(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.topics = -1
    answer = await site.ask("/metrics")

    assert answer.status == 500
    assert [record.getMessage() for record in caplog.records] == ["the HTTP page /metrics failed"]
    assert (await site.ask("/healthz")).status == 200


async def test_a_page_that_fails_each_time_does_not_fill_the_log(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_log_limit", LogLimit(module.log))
    site.topics = -1
    for _ in range(LINES + 3):
        assert (await site.ask("/metrics")).status == 500

    assert len(caplog.records) == LINES


async def test_each_connection_carries_one_request(site: Site) -> None:
    assert (await site.ask("/healthz")).headers["Connection"] == "close"


async def test_bytes_that_are_not_http_are_not_logged_as_errors(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", site.server.port)
    writer.write(b"\x00\x00\x00\x2d\x01\x00\x00\x29 garbage\r\n\r\n")
    answer = await reader.read()
    writer.close()

    assert answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400"))
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@both_loops
async def test_a_port_in_use_is_one_warning_and_no_error(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    other = OperatorHttpServer(
        "127.0.0.1", site.server.port, PageSources(metrics=site.stats, health=lambda: site.state, nsaddr=lambda: "",
        watch=site.watch),
    )  # fmt: skip
    async with other:
        assert other.port is None
        assert (await site.ask("/healthz")).status == 200

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"can't listen at 127.0.0.1:{site.server.port}" in caplog.text
    assert "httpPort" in caplog.text


async def test_who_knows_a_topic_is_told_where_look_ups_are_remembered(site: Site) -> None:
    value = json.loads((await site.ask("/who-knows?topic=A")).text)
    assert (value["topic"], value["since"], value["change"]) == ("A", ["a:1"], None)
    assert (await site.ask("/who-knows")).status == 400
    async with (other := Site(remembers=False)).server:
        answer = await other.ask("/who-knows?topic=A")
        assert (answer.status, "rememberLookups=true" in answer.text) == (404, True)


async def test_it_may_be_closed_twice_and_is_gone_then(site: Site) -> None:
    port = site.server.port
    await site.server.close()
    await site.server.close()

    assert site.server.port is None
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_who_may_not_read_gets_403_and_the_reason_and_probes_are_not_asked() -> None:
    asked = []

    def refuse(client: Peer, token: str | None) -> str | None:
        asked.append((str(client.address), token))
        return None if token == "secret" else "refused by rule 'x'"

    site = Site()
    site.server._refuse = refuse
    async with site.server:
        for path in ("/", "/metrics", "/status"):
            answer = await site.ask(path)
            assert (await site.ask("/watch?topic=T")).status == 403
            assert (answer.status, answer.text) == (403, "refused by rule 'x'\n")
            assert (await site.ask(path, Authorization="Bearer secret")).status == 200
            assert (await site.ask(path, Authorization="Basic secret")).status == 403
        for path in ("/healthz", "/readyz", "/rocketmq/nsaddr", "/rocketmq/nsaddr-unit?nofix=1"):
            assert (await site.ask(path)).status == 200
        assert (await site.ask("/metrics/../healthz/../metrics")).status == 403
    assert set(asked) == {("127.0.0.1", None), ("127.0.0.1", "secret")}
