"""A Java broker that is cut off from one of three Java name servers, which an observer follows with their logs.

The broker reaches that name server through a proxy. All other ways stay open. A second broker, which is ours,
stays registered with all three.
"""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest
from anyio.from_thread import start_blocking_portal

from namekeeper.broker.blocking import BlockingBrokerRegistrar
from namekeeper.broker.settings import BrokerSettings
from namekeeper.model.topic import TopicConfig
from namekeeper.wire.codes import version_ordinal
from tests.process.running import environment
from tests.support.java.servers import FIVE, VERSIONS, JavaBroker, JavaNameServer
from tests.support.server.webhook import WebhookServer
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask
from tests.support.wire.proxy import BreakableProxy
from tests.unit.journal.disk_parts import records_in

pytestmark = [pytest.mark.interop, pytest.mark.slow]

NAMEKEEPER = (sys.executable, "-m", "namekeeper")
BROKERS = 106
TOPIC = "SELF_TEST_TOPIC"
"""A Java broker has it from its start."""
WITHIN = 60.0
EXPIRY = 200.0
"""Seconds: a silent broker of 4.x expires after two minutes."""
STATED_MS = 6_000
"""The longest window of a broker: a period and the time limit of an answer."""
QUICK_SCAN = {"scanNotActiveBrokerInterval": "1000"}
OFTEN = {"registerNameServerPeriod": "10000"}
QUICK_EXPIRY = {
    "timerWheelEnable": "true",
    "enableSlaveActingMaster": "true",
    "brokerNotActiveTimeoutMillis": "30000",
}
"""With it a broker of 5.x sends a heartbeat each second, and expires after 30 s."""
CLOSED, SILENT = "channel_closed", "expired"
TEXTS = {CLOSED: "lost its connection", SILENT: "expired"}
Json = dict[str, Any]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Change:
    """Two instants in wall ms between which the broker came to a name server or went, as a second client sees it.

    Args:
        server: the name server.
        has_broker: whether it has the broker afterwards.
        make: makes the change.
    """

    def __init__(self, server: JavaNameServer, make: Callable[[], object], *, has_broker: bool) -> None:
        self.before = now_ms()
        make()

        def is_made() -> bool:
            asked = now_ms()
            if ("broker-a" in ask(server.address, BROKERS).json()["brokerAddrTable"]) is has_broker:
                return True
            self.before = asked
            return False

        eventually(is_made, within=EXPIRY, what=f"broker-a at {server.address}: {has_broker}")
        self.after = now_ms()

    def lies_in(self, end: int, window_ms: int) -> bool:
        """Whether it was made in a window, which is not longer than stated."""
        return 0 < window_ms <= STATED_MS and end - window_ms <= self.after and self.before <= end


class ObservedThree:
    """An observer of three name servers that reads their logs and sends messages."""

    def __init__(self, folder: Path, servers: list[JavaNameServer], hook: WebhookServer) -> None:
        self.ids = [f"main.{each.address.replace(':', '_')}" for each in servers]
        self._journals, self._hook, self._environment = folder / "observed", hook, environment(folder)
        (folder / "url").write_text(hook.url())
        (folder / "observe.toml").write_text(observe_file(servers))
        words = ("observe", "-c", str(folder / "observe.toml"), "--port", "0")
        self._process = Process(
            "observe", [*NAMEKEEPER, *words], output=folder / "observe.txt", env=self._environment
        )

    def __enter__(self) -> Self:
        for each in self.ids:
            self._process.await_line(f"{each}: observed: 2 brokers", within=WITHIN)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def record(self, number: int) -> Json:
        """The change of brokers with this number at the last name server; the others have none."""
        eventually(lambda: len(self._changes(self.ids[-1])) > number, within=WITHIN, what=f"change {number}")
        assert [len(self._changes(each)) for each in self.ids] == [0, 0, number + 1]
        return self._changes(self.ids[-1])[number]

    def _changes(self, id_: str) -> list[Json]:
        records = records_in(self._journals / id_)
        return [each for each in records if each["kind"] == "broker_live" and each.get("window_ms")]

    def message(self, number: int) -> Json:
        """The event with this number of all messages."""
        eventually(lambda: len(self._hook.events) > number, within=2 * WITHIN, what=f"message {number}")
        events: list[Json] = [each for document in self._hook.documents for each in document["events"]]
        return events[number]

    def answer(self, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            [*NAMEKEEPER, *words, "--journal", str(self._journals)], env=self._environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == status, done
        return done.stdout


def observe_file(servers: list[JavaNameServer]) -> str:
    addresses = json.dumps([each.address for each in servers])
    logs = "\n".join(f'"{each.address}" = "{each.home / "logs" / "all.log"}"' for each in servers)
    return (
        f'journal = "observed"\nbudget_percent = 5.0\n[clusters.main]\nname_servers = {addresses}\n'
        f"[clusters.main.logs]\n{logs}\n"
        '[messages]\noutbox = "outbox"\n[messages.receivers.ops]\ntype = "webhook"\nurl_file = "url"\n'
    )


def broker_of_ours(servers: list[JavaNameServer]) -> BlockingBrokerRegistrar:
    settings = BrokerSettings(
        broker_name="broker-b", broker_addr="127.0.0.1:10911", ha_server_addr="127.0.0.1:10912",
        cluster_name="DefaultCluster", namesrv_addr=";".join(each.address for each in servers),
        version=version_ordinal(servers[0].version),
    )  # fmt: skip
    return BlockingBrokerRegistrar(settings, (TopicConfig("orders", 4, 4),))


@pytest.mark.parametrize("cause", [CLOSED, pytest.param(SILENT, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "version", [each if each == "5.5.0" else pytest.param(each, marks=pytest.mark.long) for each in VERSIONS]
)
def test_a_broker_that_is_cut_off_from_one_name_server_is_said_with_its_time_and_cause(
    version: str, cause: str, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as running:
        servers = [running.enter_context(JavaNameServer(version, QUICK_SCAN)) for _ in range(3)]
        server = servers[-1]
        portal = running.enter_context(start_blocking_portal())
        proxy = running.enter_context(portal.wrap_async_context_manager(BreakableProxy(server.address)))
        properties = OFTEN | (QUICK_EXPIRY if cause == SILENT and version in FIVE else {})
        ways = [*(each.address for each in servers[:-1]), proxy.addr]
        broker = running.enter_context(JavaBroker(version, ways, properties=properties))
        running.enter_context(broker_of_ours(servers))
        hook = running.enter_context(WebhookServer())
        seen = running.enter_context(ObservedThree(tmp_path, servers, hook))

        def cut() -> None:
            proxy.refuses = True
            portal.call(proxy.cut if cause == CLOSED else proxy.hold)

        lost = Change(server, cut, has_broker=False)
        is_cut_off(seen, broker, lost, cause)

        def join() -> None:
            proxy.refuses = False
            portal.call(proxy.release)

        is_back(seen, Change(server, join, has_broker=True))
        assert [event for event, _, _ in hook.events] == ["opened", "closed"]


def is_cut_off(seen: ObservedThree, broker: JavaBroker, lost: Change, cause: str) -> None:
    """Everything says that the last name server lost the broker, when and why."""
    last = seen.ids[-1]
    record = seen.record(0)
    assert (record["broker_name"], record["gone"], record["reason"]) == ("broker-a", True, cause)
    assert lost.lies_in(record["ts"], record["window_ms"])
    since = (record["ts"], record["window_ms"])
    facts = seen.message(0)["facts"]
    assert (facts["kind"], facts["cause"]) == ("drift", "broker_missing")
    assert (facts["broker_names"], facts["name_servers"]) == (["broker-a"], [last])
    assert (facts["from_ts"], facts["from_window_ms"], facts["to_ts"]) == (*since, None)
    (verdict,) = json.loads(seen.answer("drift", "--json", status=1))["verdicts"]
    assert verdict["summary"] == (
        f"broker-a ({broker.address}) registers with 2 of 3 name servers (missing: {last})"
    )
    assert (verdict["since"], verdict["since_window_ms"], verdict["missing_at"]) == (*since, [last])
    (incident,) = json.loads(seen.answer("incidents", "--json", status=1))["open"]
    same = "kind", "cause", "broker_names", "name_servers", "what", "from_ts", "from_window_ms", "to_ts"
    assert {name: incident[name] for name in same} == {name: facts[name] for name in same}
    text = seen.answer("why", TOPIC)
    assert text.count("it had a route with queues to write to") == 2
    assert f"broker-a ({broker.address}) {TEXTS[cause]}" in text


def is_back(seen: ObservedThree, back: Change) -> None:
    """Everything says that the name servers agree again, and since when."""
    record = seen.record(1)
    assert "gone" not in record
    assert back.lies_in(record["ts"], record["window_ms"])
    facts = seen.message(1)["facts"]
    assert (facts["kind"], facts["to_ts"], facts["is_withdrawn"]) == ("drift", record["ts"], False)
    assert json.loads(seen.answer("drift", "--json"))["verdicts"] == []
    found = json.loads(seen.answer("incidents", "--json"))
    assert (found["open"], [each["kind"] for each in found["recent"]]) == ([], ["drift"])
    assert seen.answer("why", TOPIC).count("it had a route with queues to write to") == 3
