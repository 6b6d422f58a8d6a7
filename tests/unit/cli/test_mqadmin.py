import click
import pytest
from click.testing import CliRunner

from namekeeper.cli.mqadmin import COMMANDS, admin, main
from tests.unit.admin.fake_namesrv import A
from tests.unit.cli.mqadmin_tool import Tool


@pytest.fixture
def tool() -> Tool:
    return Tool()


def test_without_a_command_the_commands_are_listed(tool: Tool) -> None:
    result = CliRunner().invoke(admin, [], prog_name="mqadmin")

    assert result.exit_code == 0
    assert result.stdout.startswith(
        "The most commonly used mqadmin commands are:\n   topicRoute                          Exa"
    )
    assert all(name in result.stdout for name in COMMANDS)
    assert result.stdout.endswith(
        "See 'mqadmin help <command>' for more information on a specific command.\n"
    )


@pytest.mark.parametrize("args", [["-h"], ["--help"], ["help"]])
def test_help_lists_the_commands(args: list[str]) -> None:
    result = CliRunner().invoke(admin, args, prog_name="mqadmin")

    assert result.exit_code == 0
    assert "clusterList" in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_exists_and_explains_itself(name: str) -> None:
    asked, java = (
        CliRunner().invoke(admin, args, prog_name="mqadmin") for args in ([name, "-h"], ["help", name])
    )

    assert (asked.exit_code, java.exit_code) == (0, 0)
    assert asked.stdout == java.stdout
    assert f"mqadmin {name} [OPTIONS]" in asked.stdout
    assert "-n, --namesrvAddr LIST" in asked.stdout
    assert "--json" in asked.stdout


def test_an_unknown_command_is_a_usage_error_that_says_where_else_to_look(tool: Tool) -> None:
    result = tool.run("updateTopic", "-t", "T")

    assert result.exit_code == 1
    assert "The sub command updateTopic not exist." in result.stderr


@pytest.mark.parametrize(
    "args",
    [["topicRoute"], ["topicRoute", "-z"], ["topicRoute", "-t"], ["topicList", "surplus"], ["--bogus"]],
)
def test_a_bad_command_line_ends_with_1(tool: Tool, args: list[str]) -> None:
    assert tool.run(*args, namesrv=None, NAMESRV_ADDR=A).exit_code == 1


def test_a_command_may_be_written_in_kebab_case(tool: Tool) -> None:
    assert tool.lines("topic-route", "-t", "UnitT") == tool.lines("topicRoute", "-t", "UnitT")


def test_the_console_script_runs_the_same_commands() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["help"])

    assert ended.value.code == 0


def test_commands_are_listed_without_being_imported() -> None:
    assert admin.list_commands(click.Context(admin)) == list(COMMANDS)


@pytest.mark.parametrize("name", ["topicroute", "TOPICROUTE", "topic-route", "Topic-Route", "topic_route"])
def test_a_command_may_be_written_in_any_case(tool: Tool, name: str) -> None:
    assert tool.lines(name, "-t", "UnitT") == tool.lines("topicRoute", "-t", "UnitT")
    assert tool.run("help", name, namesrv=None).stdout == tool.run("topicRoute", "-h", namesrv=None).stdout


@pytest.mark.parametrize("args", [["updatetopic"], ["help", "updateTopic"], ["topicRout"]])
def test_a_command_that_is_not_there_is_named_in_javas_words(tool: Tool, args: list[str]) -> None:
    result = tool.run(*args, namesrv=None)
    assert result.exit_code == 1
    assert f"The sub command {args[-1]} not exist." in result.stderr


def test_a_misspelt_command_gets_a_suggestion(tool: Tool) -> None:
    assert "not exist. Did you mean topicRoute?" in tool.run("topicRoutes", namesrv=None).stderr


@pytest.mark.parametrize(
    "args",
    [
        ["-n127.0.0.1:9876"], ["-n=127.0.0.1:9876"], ["-namesrvAddr", "127.0.0.1:9876"],
        ["-namesrvAddr=127.0.0.1:9876"], ["--namesrv", "127.0.0.1:9876"], ["--nam=127.0.0.1:9876"],
        ["-n", '"127.0.0.1:9876"'], ["--namesrvAddr", "127.0.0.1:9876", "--"], ["-namesrvAddr127.0.0.1:9876"],
        ["--namesrv-addr", "127.0.0.1:9876"],
    ],
)  # fmt: skip
def test_every_spelling_of_an_option_is_read(tool: Tool, args: list[str]) -> None:
    tool.servers["127.0.0.1:9876"] = tool.servers[A]
    assert tool.run("topicRoute", "-tUnitT", *args, "-l", namesrv=None).exit_code == 0
    assert tool.run(*args[:2], "topicRoute", "-lt", "UnitT", namesrv=None).exit_code == 0
    assert {(addr, fields["topic"]) for addr, _, fields in tool.sender.asked} == {("127.0.0.1:9876", "UnitT")}


def test_the_beginning_of_a_name_must_fit_one_option_of_java(tool: Tool) -> None:
    assert tool.run("topicRoute", "--t", "UnitT").exit_code == 0
    assert "Ambiguous option: '--b'" in tool.run("dataVersion", "--b", "x").stderr
