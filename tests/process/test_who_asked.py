"""Who changed something is named wherever the change is shown: history, why, the report and the console."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import structs

pytest.importorskip("jinja2", reason="the report needs it")

from namekeeper.access.signature import sign
from namekeeper.answers.search import found_names
from namekeeper.cli.group import namekeeper
from namekeeper.console.changes import ChangeQuery, change_rows
from namekeeper.console.histories import Histories
from namekeeper.console.warehouse_history import warehouse_history
from namekeeper.pipeline.gold.steps import make_gold
from namekeeper.wire.codec import encode_command
from tests.process.running import PATIENCE_SECONDS, NameServerProcess, holding
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.file_warehouse import tables_at
from tests.support.system.waiting import PATIENCE
from tests.support.wire.ask import ask
from tests.unit.app.parts import registration

RULES = 'mode = "enforce"\nkeys = "access-keys.toml"\n[[rule]]\nname = "all"\nrequests = ["any"]\n'
KEYS = '[users]\nops = "key-of-ops"\nbroker-prod = "key-of-broker"\n'
OPERATOR, BROKER = "127.0.9.1", "127.0.0.1"
OPS = f"ops@{OPERATOR}"


def let_a_millisecond_pass() -> None:
    """What a server does in the millisecond of its stop is shown as the stop alone."""
    begin = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= begin:
        pass


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a server at which a signed broker registered, and a signed operator wiped, deleted and put something."""
    folder = tmp_path_factory.mktemp("who-asked")
    (folder / "access.toml").write_text(RULES)
    (folder / "access-keys.toml").write_text(KEYS)
    (folder / "access-keys.toml").chmod(0o600)

    def asks(code: int, **fields: str) -> None:
        signed = sign(fields, b"", access_key="ops", secret_key="key-of-ops")
        answer = ask(server.address, code, source=OPERATOR, timeout=PATIENCE_SECONDS, **signed)
        assert answer.code == 0, answer

    comes = registration(cluster_name="prod", name="prod-a", addr=f"{BROKER}:10911")
    fields = sign(comes.ext_fields, comes.body, access_key="broker-prod", secret_key="key-of-broker")
    with NameServerProcess(folder, access_file=str(folder / "access.toml")) as server:
        server.started()
        with holding(server.address, encode_command(structs.replace(comes, ext_fields=fields))) as broker:
            assert broker.recv(1)
            asks(205, brokerName="prod-a")
            asks(216, topic="T1")
            asks(100, namespace="n", key="k", value="v")
            let_a_millisecond_pass()
            server.stop()
    (found,) = (folder / "journal").glob("[0-9]*")
    return found


@pytest.fixture(scope="module")
def records(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in typed("journal", "cat", str(journal)).splitlines()]


@pytest.fixture(scope="module")
def warehouse(records: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> str:
    duck = Duck()
    make_gold(duck, duck.load(records))
    return duck.write_warehouse(tmp_path_factory.mktemp("warehouse"))


def typed(*words: str) -> str:
    done = CliRunner().invoke(namekeeper, list(words))
    assert done.exit_code in {0, 1}, (words, done.output, done.exception)
    return done.stdout


@pytest.mark.timeout(120 * PATIENCE)
def test_history_and_why_name_the_user_of_a_change(
    journal: Path, warehouse: str, records: list[dict[str, Any]]
):
    (deleted_at,) = {record["ts"] for record in records if record.get("cause") == "delete_topic"}
    at = datetime.fromtimestamp(deleted_at / 1_000, UTC).isoformat()
    for source in (("--journal", str(journal)), ("--warehouse", warehouse)):
        history, why = typed("history", "T1", *source), typed("why", "T1", "--at", at, *source)
        assert f"{OPS}:" in history, source
        assert f"broker-prod@{BROKER}:" in history, source
        assert f"{OPS}:" in why, (source, why)


@pytest.mark.timeout(120 * PATIENCE)
def test_the_report_names_the_user_of_a_change(warehouse: str):
    changes = json.loads(typed("report", "changes", "--format", "json", "--warehouse", warehouse))
    rows = changes["sections"]["changes"]["rows"]
    assert {row["cause"]: row["host"] for row in rows}.items() >= {
        "register_broker": f"broker-prod@{BROKER}",
        "wipe_write_perm": OPS,
        "delete_topic": OPS,
        "put_kv_config": OPS,
    }.items()
    for form in ("text", "html"):
        text = typed("report", "changes", "--format", form, "--warehouse", warehouse)
        assert all(who in text for who in (OPS, f"broker-prod@{BROKER}")), form
    incidents = typed("report", "incidents", "--warehouse", warehouse)
    assert f"asked by {OPS}:" in incidents, incidents


@pytest.mark.timeout(120 * PATIENCE)
def test_the_console_names_the_user_of_a_change_and_finds_it(warehouse: str):
    histories = Histories([warehouse_history(tables_at(warehouse))])
    for source in histories.all:
        histories.read(source)
    versions = [each.history for each in histories.followed]
    rows = change_rows(versions, ChangeQuery())["rows"]
    assert {row["cause"]: row["peer"].rpartition(":")[0] for row in rows if row["peer"]} == {
        "register_broker": f"broker-prod@{BROKER}",
        "put_kv_config": OPS,
        "wipe_write_perm": OPS,
        "delete_topic": OPS,
    }
    assert len(change_rows(versions, ChangeQuery(peer="ops@"))["rows"]) == 3
    (peers,) = (kind for kind in found_names(versions, "ops").kinds if kind.kind == "peer")
    assert peers.names == [OPS]
