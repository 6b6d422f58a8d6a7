"""A shadow beside Java's own name server: Java's brokers register with both, and one learns its address while it runs."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.servers import observe_command
from tests.process.running import environment
from tests.process.test_shadow import address_of
from tests.support.java.servers import JavaBroker, JavaNameServer
from tests.support.system.processes import Process, eventually
from tests.support.wire.ask import ask

pytestmark = [pytest.mark.interop, pytest.mark.slow]

NAMEKEEPER = (sys.executable, "-m", "namekeeper")
RELEASE = "5.5.0"
UPDATE_BROKER_CONFIG, WIPE = 25, 205
WITHIN = 120.0
Shadow = dict[str, Any]


@contextlib.contextmanager
def shadow_beside(server: JavaNameServer, folder: Path) -> Iterator[str]:
    """The address of a shadow; what it reads is below `observed`."""
    with Process(
        "observe",
        observe_command(server.address, folder, "--shadow", "0"),
        output=folder / "observe.txt",
        env=environment(folder),
    ) as observer:
        yield address_of(observer)


def comes_to(
    folder: Path, state: str, is_seen: Callable[[Shadow], object] = lambda _: True, *, within: float = WITHIN
) -> Shadow:
    """Wait for a state of the shadow, as the command shows it."""

    def shown() -> list[Shadow]:
        done = subprocess.run(
            [*NAMEKEEPER, "shadow", "--json", "--journal", str(folder / "observed")], env=environment(folder),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 2:  # there is no journal of the shadow yet
            return []
        (found,) = json.loads(done.stdout)["shadows"]
        assert done.returncode == {"equal": 0, "unknown": 3}.get(found["state"], 1), done
        return [found] if found["state"] == state and is_seen(found) else []

    (found,) = eventually(shown, within=within, what=f"a shadow that is {state}")
    return found


def test_javas_brokers_have_equal_tables_at_a_shadow_and_at_javas_name_server(tmp_path: Path) -> None:
    with contextlib.ExitStack() as running:
        java = running.enter_context(JavaNameServer(RELEASE))
        shadow = running.enter_context(shadow_beside(java, tmp_path))
        both = [java.address, shadow]
        running.enter_context(JavaBroker(RELEASE, both))
        second = JavaBroker(
            RELEASE,
            [java.address],
            "broker-b",
            properties={"updateNameServerAddrPeriod": 2_000},
            home=tmp_path / "b",
        )
        with second:
            found = comes_to(tmp_path, "incomplete", lambda one: one["brokers"] and one["not_registered"])
            assert [each["broker_name"] for each in found["not_registered"]] == ["broker-b"]
            assert (found["differences"], found["ended"]) == ([], [])

            assert (
                ask(second.address, UPDATE_BROKER_CONFIG, body=f"namesrvAddr={';'.join(both)}".encode()).code
                == 0
            )
            found = comes_to(tmp_path, "equal", lambda one: one["brokers"] == 2)
            begun = found["equal_since"]

            for address in both:
                assert ask(address, WIPE, brokerName="broker-a").code == 0
            comes_to(tmp_path, "equal", lambda one: one["changes"] > found["changes"])
            second.kill()
            found = comes_to(tmp_path, "equal", lambda one: one["brokers"] == 1)
        with JavaBroker(RELEASE, both, "broker-b", port=second.port, home=tmp_path / "b"):
            found = comes_to(tmp_path, "equal", lambda one: one["brokers"] == 2)
            assert found["changes"] >= 3
            assert (found["equal_since"], found["ended"]) == (begun, [])
