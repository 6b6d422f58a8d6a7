"""kill -9 of a real broker: one message with the cause, and one when it is back.

Once beside our name server, and once beside Java's, which an observer follows.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.servers import JAVA_UNDER_TEST, Namekeeper
from tests.process.running import environment
from tests.support.java.servers import JavaBroker, JavaNameServer
from tests.support.server.webhook import WebhookServer
from tests.support.system.processes import Process, eventually
from tests.unit.journal.disk_parts import records_in

pytestmark = [
    pytest.mark.interop,
    pytest.mark.slow,
    pytest.mark.skipif(JAVA_UNDER_TEST, reason="both name servers are tested anyway"),
]

NAMEKEEPER = (sys.executable, "-m", "namekeeper")
WITHIN = 60.0
FILE = 'outbox = "outbox"\n[receivers.ops]\ntype = "webhook"\nurl_env = "OPS_URL"\n'


@contextlib.contextmanager
def our_name_server(folder: Path) -> Iterator[tuple[str, Path]]:
    journal = folder / "journal"
    with Namekeeper({"journalPath": journal}) as server:
        yield server.address, journal


@contextlib.contextmanager
def observed_name_server(folder: Path) -> Iterator[tuple[str, Path]]:
    journal = folder / "observed"
    with JavaNameServer("5.5.0") as server:
        words = ("observe", "-n", server.address, "--journal", str(journal), "--budget", "5", "--port", "0")
        observer = Process(
            "observe", [*NAMEKEEPER, *words], output=folder / "observe.txt", env=environment(folder)
        )
        try:
            observer.await_line(r"observed: 0 brokers", within=WITHIN)
            yield server.address, journal
        finally:
            observer.kill()


def open_incidents(folder: Path, journal: Path) -> list[dict[str, object]]:
    done = subprocess.run(
        [*NAMEKEEPER, "incidents", "--journal", str(journal), "--json"], env=environment(folder),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found: list[dict[str, object]] = json.loads(done.stdout)["open"]
    return found


def is_recorded(journal: Path, broker_name: str) -> bool:
    """Whether the broker is in the journal, or in one of the observed name servers in it."""
    folders = (journal, *journal.glob("127.0.0.1_*"))
    return any(each.get("broker_name") == broker_name for folder in folders for each in records_in(folder))


@pytest.mark.parametrize("beside", [our_name_server, observed_name_server])
def test_a_killed_broker_is_one_message_with_its_cause_and_one_when_it_is_back(
    beside, tmp_path: Path
) -> None:
    (tmp_path / "messages.toml").write_text(FILE)
    with beside(tmp_path) as (address, journal), WebhookServer() as hook, contextlib.ExitStack() as opened:
        broker = opened.enter_context(JavaBroker("5.5.0", [address], home=tmp_path / "broker"))
        words = ("messages", "run", "-c", str(tmp_path / "messages.toml"), "--journal", str(journal))
        sender = Process(
            "messages", [*NAMEKEEPER, *words], output=tmp_path / "messages.txt",
            env={**environment(tmp_path), "OPS_URL": hook.url()},
        )  # fmt: skip
        opened.callback(sender.kill)
        sender.await_line(r"following .*; 1 receiver", within=WITHIN)
        eventually(
            (tmp_path / "outbox" / "outbox.json").exists, within=WITHIN, what="the outbox of the first look"
        )
        # An observer asks once a second: a broker that is killed before was never there for it.
        eventually(lambda: is_recorded(journal, "broker-a"), within=WITHIN, what="the broker in the journal")
        os.kill(broker.process.pid, signal.SIGKILL)
        killed_at = time.time()
        eventually(lambda: hook.events, within=WITHIN, what="a message")
        print(f"{beside.__name__}: {time.time() - killed_at:.1f} s from kill -9 to the message")
        (event,) = hook.documents[0]["events"]
        assert (event["event"], event["sequence"]) == ("opened", 1)
        facts = event["facts"]
        assert (facts["kind"], facts["broker_names"], facts["cluster"]) == (
            "broker_away", ["broker-a"], "DefaultCluster",
        )  # fmt: skip
        (incident,) = (each for each in open_incidents(tmp_path, journal) if each["kind"] == "broker_away")
        assert (facts["cause"], facts["why"]) == (incident["cause"], incident["why"])
        broker.kill()
        opened.enter_context(JavaBroker("5.5.0", [address], home=tmp_path / "broker"))
        eventually(lambda: len(hook.events) > 1, within=WITHIN, what="the message that it is over")
        sender.terminate()
        assert sender.wait(within=WITHIN) == 0
        incident_id = event["incident"]
        assert hook.events == [("opened", incident_id, 1), ("closed", incident_id, 2)]
        closed = hook.documents[-1]["events"][0]["facts"]
        assert closed["to_ts"] > closed["from_ts"]
        assert not closed["is_withdrawn"]
