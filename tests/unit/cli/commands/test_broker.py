import pytest

from tests.unit.admin.fake_namesrv import DEAD, A, B
from tests.unit.cli.mqadmin_tool import Tool


@pytest.fixture
def tool() -> Tool:
    return Tool()


def test_member_group_prints_ids_and_addresses(tool: Tool) -> None:
    args = ("brokerMemberGroup", "-c", "DefaultCluster", "-b", "broker-a")

    assert tool.lines(*args) == ["#BID  #Addr", "0     127.0.0.1:10911", "1     127.0.0.1:10912"]
    assert tool.json(*args)["brokerAddrs"] == {"0": "127.0.0.1:10911", "1": "127.0.0.1:10912"}


def test_data_version_is_shown_for_each_name_server(tool: Tool) -> None:
    tool.servers[B].versions.clear()
    args = ("dataVersion", "-c", "DefaultCluster", "-b", "broker-a", "-a", "127.0.0.1:10911")
    result = tool.run(*args, namesrv=f"{A};{B}")

    assert result.stdout.splitlines() == [
        f"{A}  stateVersion=0 timestamp=1700000000000 counter=3",
        f"{B}  - (not registered)",
    ]
    assert "sign of life" in result.stderr
    assert tool.json(*args)[0]["result"]["dataVersion"]["counter"] == 3
    assert tool.run(*args, namesrv=f"{A};{DEAD}").stdout.splitlines()[0].startswith(A)


def test_write_permissions_have_a_line_for_each_name_server(tool: Tool) -> None:
    result = tool.run("wipeWritePerm", "-b", "broker-a", namesrv=f"{DEAD};{A}")

    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        f"wipe write perm of broker[broker-a] in name server[{DEAD}] Failed",
        f"wipe write perm of broker[broker-a] in name server[{A}] OK, 3",
    ]
    assert result.stderr.startswith(f"name server {DEAD}: Connection refused")
    assert tool.lines("addWritePerm", "-b", "broker-c") == [
        f"add write perm of broker[broker-c] in name server[{A}] OK, 2"
    ]


def test_a_write_permission_of_an_unknown_broker_is_no_success(tool: Tool) -> None:
    result = tool.run("wipeWritePerm", "-b", "broker-x", namesrv=f"{A};{B}")

    assert result.exit_code == 2
    assert result.stdout.splitlines()[0].endswith(f"name server[{A}] OK, 0")
    assert result.stderr.splitlines()[0].startswith(
        f"name server {A} has no broker broker-x: did you mean broker-"
    )
    assert len(result.stderr.splitlines()) == 2


def test_a_broker_that_one_name_server_lacks_is_named_and_no_failure(tool: Tool) -> None:
    del tool.servers[B].brokers["broker-a"]
    for rows in tool.servers[B].topics.values():
        rows[:] = [row for row in rows if row.broker_name != "broker-a"]
    result = tool.run("addWritePerm", "-b", "broker-a", namesrv=f"{A};{B}")

    assert result.exit_code == 0
    assert result.stderr.startswith(f"name server {B} has no broker broker-a")


def test_members_of_an_unknown_broker_are_no_empty_answer(tool: Tool) -> None:
    result = tool.run("brokerMemberGroup", "-c", "DefaultCluster", "-b", "brokera")

    assert result.exit_code == 2
    assert "there is no broker brokera: did you mean broker-a" in result.stderr
