import json

import pytest

from tests.unit.admin.fake_namesrv import DEAD, A, B
from tests.unit.cli.mqadmin_tool import Tool


@pytest.fixture
def tool() -> Tool:
    return Tool()


def test_no_name_server_is_a_usage_error(tool: Tool) -> None:
    result = tool.run("topicList", namesrv=None)

    assert result.exit_code == 1
    assert "give -n host:port;host:port or set NAMESRV_ADDR" in result.stderr


def test_a_bad_address_is_a_usage_error_that_shows_it(tool: Tool) -> None:
    result = tool.run("topicList", namesrv="nowhere")

    assert result.exit_code == 1
    assert "'nowhere'" in result.stderr


def test_the_environment_gives_name_servers_and_the_option_wins(tool: Tool) -> None:
    assert tool.run("topicList", namesrv=None, NAMESRV_ADDR=A).exit_code == 0
    assert tool.run("topicList", namesrv=B, NAMESRV_ADDR=DEAD).exit_code == 0

    assert [addr for addr, _, _ in tool.sender.asked] == [A, B]


@pytest.mark.parametrize(
    "args",
    [
        ["-t", "UnitT"],
        ["--topic", "UnitT"],
        ["-topic", "UnitT"],
        ["-topic=UnitT"],
        ["--topic=UnitT"],
        ["-t", " UnitT "],
    ],
)
def test_options_are_read_as_java_reads_them(tool: Tool, args: list[str]) -> None:
    tool.lines("topicRoute", *args)

    assert tool.sender.asked[-1][2]["topic"] == "UnitT"


def test_of_an_option_given_twice_the_first_value_counts_as_in_java(tool: Tool) -> None:
    result = tool.run("topicList", "--namesrvAddr", B, namesrv=A)
    assert result.exit_code == 0, result.output
    assert [addr for addr, _, _ in tool.sender.asked] == [A]


@pytest.mark.parametrize("variable", ["JAVA_OPT", "JAVA_OPT_EXT", "JAVA_TOOL_OPTIONS"])
def test_the_system_property_of_java_gives_name_servers_if_nothing_else_does(
    tool: Tool, variable: str
) -> None:
    of_java = {variable: f"-Xms256m -Drocketmq.namesrv.addr={A}"}
    assert tool.run("topicList", namesrv=None, **of_java).exit_code == 0
    assert tool.run("topicList", namesrv=B, **of_java).exit_code == 0
    assert tool.run("topicList", namesrv=None, NAMESRV_ADDR=B, **of_java).exit_code == 0
    assert [addr for addr, _, _ in tool.sender.asked] == [A, B, B]


def test_the_timeout_is_in_seconds(tool: Tool) -> None:
    tool.lines("topicList", "--timeout", "1.5")

    assert tool.sender.timeouts_ms == {1500}


def test_reading_goes_on_to_the_next_name_server_and_says_so(tool: Tool) -> None:
    result = tool.run("topicRoute", "-t", "UnitT", "-l", namesrv=f"{DEAD};{A}")

    assert result.exit_code == 0
    assert "broker-a" in result.stdout
    assert f"name server {DEAD}: Connection refused" in result.stderr
    assert "asking the next one" in result.stderr


def test_reading_does_not_go_on_after_a_refusal(tool: Tool) -> None:
    del tool.servers[A].topics["UnitT"]

    assert tool.run("topicRoute", "-t", "UnitT", namesrv=f"{A};{B}").exit_code == 2


def test_an_empty_topic_list_prints_nothing(tool: Tool) -> None:
    tool.servers[A].topics.clear()

    assert tool.run("topicList").stdout == ""


def test_json_of_several_name_servers_has_an_entry_for_each(tool: Tool) -> None:
    tool.servers[B].refusals[205] = (16, "no")
    result = tool.run("wipeWritePerm", "-b", "broker-a", "--json", namesrv=f"{A};{B};{DEAD}")
    first, second, third = json.loads(result.stdout)

    assert result.exit_code == 3
    assert first == {"namesrv": A, "ok": True, "result": 3}
    assert (second["ok"], second["code"]) == (False, 16)
    assert (third["ok"], third["code"]) == (False, None)


def test_a_refused_update_says_who_refused_and_who_did_not(tool: Tool) -> None:
    tool.servers[B].refusals[318] = (16, "Can not update config in black list.")
    result = tool.run("updateNamesrvConfig", "-k", "kvConfigPath", "-v", "/x", namesrv=f"{A};{B}")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        f"name server {A}: done",
        f"name server {B} refused: Can not update config in black list. (16, NO_PERMISSION)",
    ]


def test_a_note_begins_as_a_comment(tool: Tool) -> None:
    result = tool.run("clusterList", namesrv=f"{DEAD};{A}")

    assert all(line.startswith("# ") for line in result.stderr.splitlines())
    assert len(result.stderr.splitlines()) == 2


@pytest.fixture
def merged(tool: Tool, monkeypatch):
    """What commands print on stderr and stdout where both are one pipe."""
    monkeypatch.setattr("namekeeper.cli.asking.is_one_stream", lambda: True)
    return lambda *args: tool.run(*args, namesrv=f"{DEAD};{A}")


@pytest.mark.parametrize(
    "args", [["topicRoute", "-t", "UnitT"], ["clusterList", "--json"], ["getNamesrvConfig", "--json"]]
)
def test_nothing_stands_beside_json_where_both_streams_are_one(merged, args: list[str]) -> None:
    result = merged(*args)
    assert json.loads(result.stdout)
    assert result.stderr == ""


@pytest.mark.parametrize("args", [["topicRoute", "-t", "UnitT", "-l"], ["getNamesrvConfig"], ["clusterList"]])
def test_no_note_looks_like_a_row_where_both_streams_are_one(merged, args: list[str]) -> None:
    notes = merged(*args).stderr.splitlines()
    assert notes
    assert all(line.startswith("# ") for line in notes)
