"""Names that could act on a terminal come out of no command as they are, in no form of output."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import COMMANDS, JOURNAL_COMMANDS, namekeeper
from namekeeper.cli.mqadmin import COMMANDS as ADMIN_COMMANDS
from namekeeper.model.topic import TopicConfig
from tests.attacks.peers import Wire, frame, registration
from tests.process.running import NameServerProcess
from tests.support.system.processes import eventually

HOSTILE = "\x1b[31m\x07\x9b2J\u202e\x1b]0;t\x07"
TOPIC, BROKER, CLUSTER = (f"{kind}{HOSTILE}" for kind in ("topic", "broker", "cluster"))
ADDR = f"10.0.0.1{HOSTILE}:10911"
NAMESPACE, KEY, VALUE = (f"{kind}{HOSTILE}" for kind in ("space", "key", "value"))

ADMIN = {
    "topicRoute": ["-t", TOPIC],
    "topicList": ["-c"],
    "topicClusterList": ["-t", TOPIC],
    "topicsByCluster": ["-c", CLUSTER],
    "systemTopics": [],
    "unitTopicList": ["-k", "unit"],
    "clusterList": [],
    "brokerMemberGroup": ["-c", CLUSTER, "-b", BROKER],
    "retireBroker": ["-c", CLUSTER, "-b", BROKER, "-a", "10.0.0.9:1"],
    "dataVersion": ["-c", CLUSTER, "-b", BROKER, "-a", ADDR],
    "getNamesrvConfig": [],
    "kvList": ["-s", NAMESPACE],
    "updateKvConfig": ["-s", NAMESPACE, "-k", KEY, "-v", VALUE],
    "updateOrderConf": ["-t", TOPIC, "-m", "get"],
    "updateNamesrvConfig": ["-k", KEY, "-v", VALUE],
    "wipeWritePerm": ["-b", BROKER],
    "addWritePerm": ["-b", BROKER],
    "deleteKvConfig": ["-s", NAMESPACE, "-k", "not there"],
    "deleteTopic": ["-t", f"nobody{HOSTILE}", "-c", CLUSTER],
}
"""Every command with what it is asked; those that change come last."""

OF_JOURNAL = {
    "ls": [],
    "cat": [],
    "tail": ["-n", "1000"],
    "verify": [],
    "replay": [],
}
OTHERS = {
    "route-at": [TOPIC],
    "why": [TOPIC],
    "history": [TOPIC],
    "audit": [],
}
ASKING = {"compare": [], "what-if": ["--without", BROKER], "who-knows": [TOPIC]}
NAME_SHOWING = ("route", "why", "history", "audit", "compare", "what", "who")
"""How the commands begin that print names of peers."""

Run = Callable[..., str]


def run(*arguments: str) -> str:
    """All that a command prints; it may fail, as long as it says so."""
    result = CliRunner().invoke(namekeeper, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), arguments
    return result.output


def acting(text: str) -> str:
    """Characters that should have been escaped."""
    return "".join(sorted({each for each in text if not each.isprintable() and each not in "\n\t"}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("harmless")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[NameServerProcess]:
    """A server that was told all of these names, and has written them to its journal."""
    journal = folder / "journal"
    with NameServerProcess(folder, journal_path=str(journal), journal_fsync_interval_ms="1") as server:
        port = int(server.started().address.rpartition(":")[2])
        with Wire(port) as broker:
            header, _ = broker.ask(
                registration(BROKER, [TopicConfig(TOPIC), TopicConfig("T2")], cluster=CLUSTER, addr=ADDR)
            )
            assert json.loads(header)["code"] == 0
            header, _ = broker.ask(frame(100, {"namespace": NAMESPACE, "key": KEY, "value": VALUE}))
            assert json.loads(header)["code"] == 0
            order = {"namespace": "ORDER_TOPIC_CONFIG", "key": TOPIC, "value": f"{BROKER}:4"}
            broker.ask(frame(100, order))
            eventually(lambda: "space" in run("journal", "cat", str(journal)), within=60, what="the records")
            yield server


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", ADMIN)
def test_what_a_name_server_says_is_shown_harmlessly(server, command, form):
    shown = run("admin", command, *ADMIN[command], *form, "-n", server.address)
    assert acting(shown) == ""
    if command in {"topicRoute", "topicList", "topicClusterList", "topicsByCluster", "clusterList", "kvList"}:
        assert r"\x1b" in shown or r"\u001b" in shown


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", OF_JOURNAL)
def test_what_a_journal_says_is_shown_harmlessly(server, folder, command, form):
    shown = run("journal", command, *OF_JOURNAL[command], *form, str(folder / "journal"))
    assert acting(shown) == ""
    if command in {"cat", "tail"} and not form:
        assert r"\x1b" in shown or r"\u001b" in shown


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", OTHERS)
def test_what_a_journal_answers_is_shown_harmlessly(server, folder, command, form):
    shown = run(command, *OTHERS[command], "--journal", str(folder / "journal"), *form)
    assert acting(shown) == ""
    if command != "audit":
        assert r"\x1b" in shown or r"\u001b" in shown


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", ASKING)
def test_what_is_found_out_by_asking_is_shown_harmlessly(server, command, form):
    assert acting(run(command, *ASKING[command], "-n", server.address, *form)) == ""


def test_no_command_is_forgotten():
    assert set(ADMIN) == set(ADMIN_COMMANDS)
    assert set(OF_JOURNAL) | {"ship", "seal"} == set(JOURNAL_COMMANDS), "those two print no names of peers"
    assert {name for name in COMMANDS if name.split("-")[0] in NAME_SHOWING} == set(OTHERS) | set(ASKING)
