import json

import pytest
from click.testing import CliRunner, Result

from namekeeper.cli import compare as module
from namekeeper.cli.compare import compare
from namekeeper.cli.connecting import Connector
from tests.unit.admin.fake_namesrv import DEAD, A, B, FakeNamesrv, FakeSender, broker, queues, typical


@pytest.fixture
def servers() -> dict[str, FakeNamesrv]:
    return {A: typical(), B: typical()}


def run(servers: dict[str, FakeNamesrv], *args: str) -> Result:
    return CliRunner().invoke(
        compare, [*args], obj=Connector(FakeSender(servers).opened), prog_name="namekeeper compare"
    )


def test_agreement_ends_with_0_and_says_how_much_was_compared(servers: dict[str, FakeNamesrv]) -> None:
    result = run(servers, A, B)

    assert result.exit_code == 0
    assert result.stdout.startswith(f"{A} and {B} agree on ")
    assert result.stderr == ""


def test_differences_are_a_table_and_end_with_1(servers: dict[str, FakeNamesrv]) -> None:
    servers[B].topics["UnitT"] = [queues("broker-a", 9, flag=1)]
    result = run(servers, A, B)

    assert result.exit_code == 1
    head, _, row, *_ = [line for line in result.stdout.splitlines() if line.strip()]
    assert head.split() == ["what", "name", "detail", A, B]
    assert row.split("  ")[0].strip() == "topic"
    assert "read 2, write 2, perm 6 RW-, sysFlag 1" in row
    assert "read 9, write 9, perm 6 RW-, sysFlag 1" in row
    assert f"{A} and {B} differ in 1 of " in result.stdout


def test_text_of_a_peer_is_not_markup(servers: dict[str, FakeNamesrv]) -> None:
    servers[B].topics["[red]T[/red]"] = [queues("broker-a")]

    assert "[red]T[/red]" in run(servers, A, B).stdout


def test_json_holds_the_whole_comparison(servers: dict[str, FakeNamesrv]) -> None:
    servers[B].kv["ns"] = {"k": "v"}
    result = run(servers, A, B, "--json", "--namespace", "ns")
    value = json.loads(result.stdout)

    assert result.exit_code == 1
    assert value["differences"] == [{"part": "kv config", "name": "ns", "detail": "", "a": None, "b": "yes"}]
    assert (value["a"], value["b"], value["not_compared"]) == (A, B, {})


def test_configuration_and_data_versions_are_compared_on_request(servers: dict[str, FakeNamesrv]) -> None:
    servers[B].config["listenPort"] = "1"
    servers[B].versions.clear()

    assert run(servers, A, B).exit_code == 0
    assert "listenPort" in run(servers, A, B, "--config").stdout
    assert "not registered" in run(servers, A, B, "--data-versions").stdout


def test_what_could_not_be_compared_is_noted(servers: dict[str, FakeNamesrv]) -> None:
    servers[B].refusals[206] = (1, "disable")
    result = run(servers, A, B)

    assert result.exit_code == 0
    assert result.stderr == f"note: topic not compared: {B}: disable\n"


def test_name_servers_of_different_clusters_are_noted(servers: dict[str, FakeNamesrv]) -> None:
    names = ("broker-a", "broker-b", "broker-c")
    servers[B].brokers = {name: broker("DefaultCluster", name, _0=f"{name}:10911") for name in names}
    result = run(servers, A, B)

    assert result.exit_code == 1
    assert (
        result.stderr == f"note: {A} and {B} share no broker address: they seem to serve different clusters\n"
    )
    assert json.loads(run(servers, A, B, "--json").stdout)["share_brokers"] is False


@pytest.mark.parametrize(("label", "is_noted"), [("east", False), ("west", True), ("", False)])
def test_different_labels_are_noted(servers: dict[str, FakeNamesrv], label: str, is_noted: bool) -> None:
    servers[A].config["clusterLabel"], servers[B].config["clusterLabel"] = "east", label
    result = run(servers, A, B)

    noted = f"note: {A} and {B} have the cluster labels east and west: they serve different clusters\n"
    assert (result.exit_code, result.stderr) == (0, noted if is_noted else "")
    assert json.loads(run(servers, A, B, "--json").stdout)["cluster_labels"] == ["east", label]


def test_an_empty_name_server_is_not_of_another_cluster(servers: dict[str, FakeNamesrv]) -> None:
    servers[B] = FakeNamesrv()
    result = run(servers, A, B)

    assert (result.exit_code, result.stderr) == (1, "")


def test_an_unreachable_server_ends_with_3(servers: dict[str, FakeNamesrv]) -> None:
    result = run(servers, A, DEAD)

    assert result.exit_code == 3
    assert f"name server {DEAD}: Connection refused" in result.stderr


def test_a_refusal_ends_with_2(servers: dict[str, FakeNamesrv]) -> None:
    servers[A].refusals[106] = (16, "no")

    assert run(servers, A, B).exit_code == 2


@pytest.mark.parametrize("args", [(A,), (A, "nowhere"), (A, B, "--bogus")])
def test_a_bad_command_line_ends_with_2(servers: dict[str, FakeNamesrv], args: tuple[str, ...]) -> None:
    assert run(servers, *args).exit_code == 2


def test_confirmation_drops_what_was_different_only_once(servers: dict[str, FakeNamesrv]) -> None:
    servers[B].topics["Passing"] = [queues("broker-a")]
    servers[B].topics["Lasting"] = [queues("broker-a")]
    handle = servers[B].handle
    lists = []

    def passing(code, fields, body):
        if code == 206:
            lists.append(code)
            if len(lists) == 2:
                del servers[B].topics["Passing"]
                servers[B].topics["New"] = [queues("broker-a")]
        return handle(code, fields, body)

    servers[B].handle = passing
    result = run(servers, A, B, "--confirm", "0.001", "--json")

    assert result.exit_code == 1
    assert [difference["name"] for difference in json.loads(result.stdout)["differences"]] == ["Lasting"]


def test_confirmation_does_not_look_twice_without_a_difference(servers: dict[str, FakeNamesrv]) -> None:
    sender = FakeSender(servers)
    CliRunner().invoke(compare, [A, B, "--confirm", "99"], obj=Connector(sender.opened))

    assert [code for _, code, _ in sender.asked].count(206) == 2


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with module._progress() as quiet:
        quiet("x", 1, 2)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)

    assert module._progress().__class__.__name__ == "_GeneratorContextManager"
