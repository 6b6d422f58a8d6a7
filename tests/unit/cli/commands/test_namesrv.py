import pytest

from tests.unit.admin.fake_namesrv import DEAD, A, B
from tests.unit.cli.mqadmin_tool import Tool


@pytest.fixture
def tool() -> Tool:
    return Tool()


def test_configuration_is_printed_under_each_address(tool: Tool) -> None:
    lines = tool.lines("getNamesrvConfig", namesrv=f"{A};{B}")

    assert lines[0] == f"============{A}============"
    assert lines[1] == "configStorePath                                   =  C:\\x=y"
    assert lines[4] == f"============{B}============"
    assert tool.json("getNamesrvConfig")[0]["result"]["listenPort"] == "9876"


def test_configuration_of_the_servers_that_answer_is_printed_before_the_error(tool: Tool) -> None:
    result = tool.run("getNamesrvConfig", namesrv=f"{DEAD};{A}")

    assert result.exit_code == 3
    assert result.stdout.startswith(f"============{A}")


def test_update_of_configuration_says_where(tool: Tool) -> None:
    lines = tool.lines("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "true", namesrv=f"{A};{B}")

    assert lines == [f"update name server config success![{A}, {B}]", "orderMessageEnable : true"]
    assert tool.servers[B].config["updated with"] == "orderMessageEnable=true\n"
