"""`namekeeper drift` about two of Java's own name servers, of both lines, that `namekeeper observe` follows."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from tests.process.running import environment
from tests.support.java.servers import JavaBroker, JavaNameServer
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask

pytestmark = [pytest.mark.interop, pytest.mark.slow]

NAMEKEEPER = (sys.executable, "-m", "namekeeper")
OLD, NEW = "4.9.7", "5.5.0"
TOPIC = "SELF_TEST_TOPIC"
"""Each broker has it from its start."""
PUT_KV, ROUTE, WIPE = 100, 105, 205
WITHIN = 60.0
A_WITNESS_AFTER = 120.0
"""Seconds: a name server misses a broker that never registered since its start after two minutes."""
Verdict = dict[str, Any]


class Instants:
    """The wall ms before and after a change that a test makes."""

    before = after = 0

    def __enter__(self) -> Self:
        self.before = now_ms()
        return self

    def __exit__(self, *_: object) -> None:
        self.after = now_ms()

    def lie_in_the_window_of(self, verdict: Verdict) -> bool:
        """Whether the change may have been made within the window in which the disagreement began."""
        end = verdict["since"]
        return end - verdict["since_window_ms"] <= self.after and self.before <= end


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class ObservedPair:
    """Two name servers, of which the test changes the old one, and their observer."""

    def __init__(self, folder: Path, old: JavaNameServer, new: JavaNameServer) -> None:
        self.old, self.new = old, new
        self.old_id, self.new_id = (one.address.replace(":", "_") for one in (old, new))
        self._journals, self._environment = str(folder / "observed"), environment(folder)
        words = (
            "observe",
            "-n",
            f"{old.address};{new.address}",
            "--journal",
            self._journals,
            "--budget",
            "5",
            "--port",
            "0",
        )
        self._process = Process(
            "observe", [*NAMEKEEPER, *words], output=folder / "observe.txt", env=self._environment
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def observes(self, brokers: str) -> None:
        """Wait until both name servers are observed."""
        for id_ in (self.old_id, self.new_id):
            self._process.await_line(f"{id_}: observed: {brokers}", within=WITHIN)

    def verdicts(self) -> dict[str, Verdict]:
        """Kind -> the verdict of that kind; if topics differ in two ways, that on the topic of the test."""
        done = subprocess.run(
            [*NAMEKEEPER, "drift", "--json", "--journal", self._journals], env=self._environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in {0, 1}, done
        found = json.loads(done.stdout)["verdicts"]
        assert done.returncode == bool(found), done
        found.sort(key=lambda verdict: TOPIC in verdict["topics"])
        return {verdict["kind"]: verdict for verdict in found}

    def comes_to(self, *kinds: str, within: float = WITHIN) -> dict[str, Verdict]:
        """Wait until there are verdicts of these kinds and of no others."""
        (found,) = eventually(
            lambda: [now] if (now := self.verdicts()).keys() == set(kinds) else [],
            within=within, what=f"verdicts {kinds}",
        )  # fmt: skip
        return found


def order_configuration(server: JavaNameServer, value: str) -> None:
    fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": TOPIC, "value": value}
    assert ask(server.address, PUT_KV, **fields).code == 0


@contextlib.contextmanager
def observed_pair(folder: Path) -> Iterator[tuple[ObservedPair, JavaBroker, JavaBroker]]:
    """Two name servers that agree, their observer, and two brokers that register with both."""
    with contextlib.ExitStack() as running:
        old, new = (running.enter_context(JavaNameServer(version)) for version in (OLD, NEW))
        both = [old.address, new.address]
        first = running.enter_context(JavaBroker(NEW, both))
        second = running.enter_context(JavaBroker(NEW, both, "broker-b", home=folder / "b"))
        for server in (old, new):
            order_configuration(server, "broker-a:4")
        pair = running.enter_context(ObservedPair(folder, old, new))
        pair.observes("2 brokers")
        pair.comes_to()
        yield pair, first, second


@contextlib.contextmanager
def registered_at_the_new_one_alone(
    pair: ObservedPair, broker: JavaBroker, folder: Path
) -> Iterator[tuple[JavaBroker, Instants]]:
    """Start a broker again with the new name server only."""
    broker.stop()
    instants = Instants()
    again = JavaBroker(NEW, [pair.new.address], broker.name, port=broker.port, home=folder / "b")
    with contextlib.ExitStack() as running:
        with instants:
            running.enter_context(again)
        yield again, instants


class WipedPermission:
    """The write permission of a broker, wiped at one name server, again whenever the broker gives it back.

    A broker of 5.x does so with the registration in which the version of its topics is another.
    """

    def __init__(self, server: JavaNameServer, broker: JavaBroker) -> None:
        self._server, self._broker = server, broker
        self.made: list[Instants] = []

    def is_kept(self) -> None:
        route = ask(self._server.address, ROUTE, topic=TOPIC).json()
        (perm,) = (one["perm"] for one in route["queueDatas"] if one["brokerName"] == self._broker.name)
        if perm & 2:
            with Instants() as made:
                assert ask(self._server.address, WIPE, brokerName=self._broker.name).code == 0
            self.made.append(made)


def test_verdicts_name_what_two_name_servers_disagree_about_and_since_when(tmp_path: Path) -> None:
    with observed_pair(tmp_path) as (pair, broker, second):
        wiped = WipedPermission(pair.old, broker)
        with Instants() as reordered:
            order_configuration(pair.old, "broker-a:8")
        found: dict[str, Verdict] = {}

        def are_found() -> bool:
            wiped.is_kept()
            found.update(pair.verdicts())
            return found.keys() >= {"broker_missing", "permission_differs", "order_differs"}

        with registered_at_the_new_one_alone(pair, second, tmp_path) as (again, registered):
            eventually(are_found, within=2 * WITHIN, what="the verdicts")
            assert len(found) == 3
            missing = found["broker_missing"]
            assert (missing["brokers"], missing["missing_at"]) == (["broker-b"], [pair.old_id])
            assert missing["summary"] == (
                f"broker-b ({again.address}) registers with 1 of 2 name servers (missing: {pair.old_id})"
            )
            assert registered.lie_in_the_window_of(missing)
            permission = found["permission_differs"]
            assert permission["brokers"] == ["broker-a"]
            assert TOPIC in permission["topics"]
            assert f"{pair.old_id} R--" in permission["summary"]
            assert f"{pair.new_id} RW-" in permission["summary"]
            assert any(made.lie_in_the_window_of(permission) for made in wiped.made)
            order = found["order_differs"]
            assert order["topics"] == [TOPIC]
            assert reordered.lie_in_the_window_of(order)
            assert all(each["is_since_known"] and each["since_window_ms"] > 0 for each in found.values())


@pytest.mark.long  # a name server is a witness two minutes after its start
def test_a_restart_makes_a_partial_list(tmp_path: Path) -> None:
    with (
        observed_pair(tmp_path) as (pair, _, second),
        registered_at_the_new_one_alone(pair, second, tmp_path),
    ):
        pair.comes_to("broker_missing")
        with Instants() as restarted:
            pair.old.restart()
        found = pair.comes_to("partial_list", within=A_WITNESS_AFTER + WITHIN)
        partial = found["partial_list"]
        assert (partial["brokers"], partial["missing_at"]) == (["broker-b"], [pair.old_id])
        assert "has a partial list since its" in partial["summary"]
        assert "restart: 1 of 2 brokers (missing: broker-b)" in partial["summary"]
        assert restarted.before <= partial["since"]
