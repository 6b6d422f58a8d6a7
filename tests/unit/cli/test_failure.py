import click
import pytest

from namekeeper.cli.failure import describe
from namekeeper.errors import ConfigError, RemotingClosedError, RemotingTimeoutError
from namekeeper.wire.command import RemotingCommand
from tests.unit.admin.fake_namesrv import DEAD, A
from tests.unit.cli.mqadmin_tool import Tool


@pytest.fixture
def tool() -> Tool:
    return Tool()


def test_a_refusal_is_one_line_and_ends_with_2(tool: Tool) -> None:
    result = tool.run("topicRoute", "-t", "nope")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        f"mqadmin: name server {A} refused: No topic route info in name server for the topic: nope (17, TOPIC_NOT_EXIST)\n"
    )


def test_an_unreachable_name_server_is_one_line_and_ends_with_3(tool: Tool) -> None:
    result = tool.run("topicRoute", "-t", "T", namesrv=DEAD)

    assert result.exit_code == 3
    assert result.stderr == (f"mqadmin: name server {DEAD}: Connection refused\n")


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (RemotingTimeoutError(A, "no answer within 5000 ms"), "--timeout"),
        (RemotingClosedError(A, "closed"), "TLS"),
    ],
)
def test_a_silent_or_hanging_up_server_counts_as_unreachable(
    tool: Tool, error: Exception, advice: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    tool.servers[A].handle = fail
    result = tool.run("clusterList")

    assert result.exit_code == 3
    assert advice in result.stderr


@pytest.mark.parametrize("options", [["--timeout"], []])
def test_an_option_is_advised_only_where_the_command_has_it(options: list[str]) -> None:
    command = click.Command("c", params=[click.Option([option]) for option in options])
    with click.Context(command):
        text = describe(RemotingTimeoutError(A, "no answer within 5000 ms"))
    assert ("--timeout" in text) == bool(options)
    assert "too old" in text


@pytest.mark.parametrize(
    ("code", "remark", "advice"),
    [(1, "disable", "enableAllTopicList"), (3, " request type 206 not supported", "older")],
)
def test_refusals_with_a_known_reason_say_it(tool: Tool, code: int, remark: str, advice: str) -> None:
    tool.servers[A].refusals[206] = (code, remark)

    assert advice in tool.run("topicList").stderr


def test_an_answer_that_cant_be_read_counts_as_refusal(tool: Tool) -> None:
    tool.servers[A].handle = lambda *_: RemotingCommand(body=b"<html>")
    result = tool.run("topicList")

    assert result.exit_code == 2
    assert result.stderr.startswith(f"mqadmin: name server {A}: its answer can't be read: ")


def test_advice_does_not_ask_twice_whether_it_is_a_name_server() -> None:
    error = RemotingClosedError(A, f"{A}: the peer sent bytes that are no frame; is it RocketMQ?")
    assert "RocketMQ" not in describe(error)
    assert describe(error).count("; ") == 1


def test_other_errors_are_said_as_they_are() -> None:
    assert describe(ConfigError("set\nthis")) == "set this"
