import json

import pytest

from tests.unit.cli.mqadmin_tool import Tool


@pytest.fixture
def tool() -> Tool:
    return Tool()


def test_cluster_list_shows_what_a_name_server_knows(tool: Tool) -> None:
    result = tool.run("clusterList", "-c", "Other")

    assert [line.split()[:4] for line in result.stdout.splitlines()[1:]] == [
        ["Other", "broker-c", "0", "127.0.0.1:10931"]
    ]
    assert "known to brokers only" in result.stderr
    assert len(tool.lines("clusterList")) == 5
    assert "#InTotalYest" in tool.lines("clusterList", "-m")[0]


def test_cluster_list_as_json_is_the_servers_own_value(tool: Tool) -> None:
    info = tool.json("clusterList")
    other = tool.json("clusterList", "-c", "Other")

    assert info["clusterAddrTable"] == {"DefaultCluster": ["broker-a", "broker-b"], "Other": ["broker-c"]}
    assert info["brokerAddrTable"]["broker-a"]["brokerAddrs"]["1"] == "127.0.0.1:10912"
    assert other["clusterAddrTable"] == {"Other": ["broker-c"]}
    assert list(other["brokerAddrTable"]) == ["broker-c"]


def test_cluster_list_repeats_on_an_interval(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("namekeeper.cli.commands.cluster.time.sleep", sleep)
    result = tool.run("clusterList", "-i", "7")

    assert pauses == [0, 7, 7]
    assert result.stdout.count("#Cluster Name") == 2


def test_an_unknown_cluster_is_no_empty_answer(tool: Tool) -> None:
    near = tool.run("clusterList", "-c", "defaultcluster")
    far = tool.run("clusterList", "-c", "nope", "--json")

    assert (near.exit_code, far.exit_code) == (2, 2)
    assert near.stderr == "mqadmin: there is no cluster defaultcluster: did you mean DefaultCluster?\n"
    assert far.stderr == "mqadmin: there is no cluster nope; there is DefaultCluster, Other\n"
    assert json.loads(far.stdout) == {"brokerAddrTable": {}, "clusterAddrTable": {}}
