import pytest

from tests.unit.admin.fake_namesrv import A, B
from tests.unit.cli.mqadmin_tool import Tool


@pytest.fixture
def tool() -> Tool:
    return Tool()


def test_kv_values_go_to_every_name_server(tool: Tool) -> None:
    put = tool.lines("updateKvConfig", "-s", "ns", "-k", "k", "-v", "v", namesrv=f"{A};{B}")
    assert put == ["create or update kv config to namespace success."]
    assert tool.servers[B].kv["ns"] == {"k": "v"}

    assert tool.lines("kvList", "-s", "ns") == ["k=v"]
    assert tool.json("kvList", "-s", "ns") == {"table": {"k": "v"}}

    deleted = tool.lines("deleteKvConfig", "-s", "ns", "-k", "k", namesrv=f"{A};{B}")
    assert deleted == ["delete kv config from namespace success."]
    assert tool.servers[B].kv["ns"] == {}


def test_an_unknown_kv_namespace_is_a_refusal(tool: Tool) -> None:
    result = tool.run("kvList", "-s", "nope")

    assert (result.exit_code, result.stderr) == (2, "mqadmin: no namespace nope in the KV config\n")


def test_order_conf_is_put_printed_and_deleted(tool: Tool) -> None:
    put = tool.lines("updateOrderConf", "-t", "T", "-v", "broker-a:4", "-m", "put", namesrv=f"{A};{B}")
    assert put == ["update orderConf success. topic=[T], orderConf=[broker-a:4]"]
    assert tool.lines("updateOrderConf", "-t", "T", "-m", "get") == [
        "get orderConf success. topic=[T], orderConf=[broker-a:4] "
    ]
    assert tool.json("updateOrderConf", "-t", "T", "-m", "get") == {"topic": "T", "orderConf": "broker-a:4"}
    assert tool.lines("updateOrderConf", "-t", "T", "-m", "delete") == ["delete orderConf success. topic=[T]"]
    assert tool.run("updateOrderConf", "-t", "T", "-m", "get").exit_code == 2


def test_order_conf_complains_of_what_is_missing(tool: Tool) -> None:
    result = tool.run("updateOrderConf", "-t", "T", "-m", "put")

    assert result.exit_code == 1
    assert "please set orderConf with option -v." in result.stderr
    assert tool.run("updateOrderConf", "-t", "T", "-m", "bad").exit_code == 1
