"""Text of strangers reaches no terminal raw: every command, in text and in JSON."""

import json
import subprocess
import sys
import unicodedata

import pytest
from click.testing import CliRunner

from namekeeper.cli.compare import compare
from namekeeper.cli.connecting import Connector
from namekeeper.cli.group import namekeeper
from namekeeper.cli.mqadmin import COMMANDS
from namekeeper.cli.output import echo, note
from tests.support.system.waiting import PATIENCE
from tests.unit.admin.fake_namesrv import A, B, FakeNamesrv, broker, queues
from tests.unit.answers.story import Story
from tests.unit.cli.mqadmin_tool import Tool

HOSTILE = "x\x1b]0;owned\x07\x9b31m\u202egnp\u2066\u200e\u2028\x7f\nforged"

ARGUMENTS = {
    "topicRoute": ["-t", HOSTILE],
    "topicRoute -l": ["-l", "-t", HOSTILE],
    "topicList": [],
    "topicList -c": ["-c"],
    "topicClusterList": ["-t", HOSTILE],
    "topicsByCluster": ["-c", HOSTILE],
    "systemTopics": [],
    "unitTopicList": [],
    "deleteTopic": ["-t", HOSTILE, "-c", HOSTILE],
    "clusterList": [],
    "clusterList -m": ["-m"],
    "brokerMemberGroup": ["-c", HOSTILE, "-b", HOSTILE],
    "dataVersion": ["-c", HOSTILE, "-b", HOSTILE, "-a", HOSTILE],
    "retireBroker": ["-c", HOSTILE, "-b", HOSTILE, "-a", "10.0.0.9:1"],
    "wipeWritePerm": ["-b", HOSTILE],
    "addWritePerm": ["-b", HOSTILE],
    "getNamesrvConfig": [],
    "updateNamesrvConfig": ["-k", HOSTILE, "-v", HOSTILE],
    "updateKvConfig": ["-s", HOSTILE, "-k", HOSTILE, "-v", HOSTILE],
    "deleteKvConfig": ["-s", HOSTILE, "-k", HOSTILE],
    "kvList": ["-s", HOSTILE],
    "updateOrderConf": ["-t", HOSTILE, "-m", "get"],
    "updateOrderConf put": ["-t", HOSTILE, "-m", "put", "-v", HOSTILE],
}
"""Every sub-command of mqadmin, those with another form of output twice."""


def hostile_namesrv() -> FakeNamesrv:
    """One that holds names which strangers made up."""
    return FakeNamesrv(
        brokers={HOSTILE: broker(HOSTILE, HOSTILE, _0=HOSTILE)},
        topics={HOSTILE: [queues(HOSTILE, flag=3)]},
        kv={HOSTILE: {HOSTILE: HOSTILE}, "ORDER_TOPIC_CONFIG": {HOSTILE: HOSTILE}},
        config={"key": HOSTILE.replace("\n", "")},  # line by line on the wire
    )


def harmful(text: str) -> set[str]:
    """Characters that act on a terminal; the layout's own line ends and tabs don't."""
    kinds = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {each for each in text if unicodedata.category(each) in kinds and each not in "\n\t"}


def test_the_table_has_every_command() -> None:
    assert {name.split()[0] for name in ARGUMENTS} == set(COMMANDS)


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_no_command_of_mqadmin_prints_a_stranger_raw(name: str, form: list[str]) -> None:
    tool = Tool()
    tool.servers[A] = hostile_namesrv()

    result = tool.run(name.split(maxsplit=1)[0], *ARGUMENTS[name], *form)

    assert "Traceback" not in result.output
    assert not harmful(result.stdout + result.stderr)
    if not form:
        assert not [line for line in result.stdout.splitlines() if line.startswith("forged")]


@pytest.mark.parametrize("name", ["topicRoute", "topicList", "clusterList", "kvList", "getNamesrvConfig"])
def test_a_refusal_is_harmless_too(name: str) -> None:
    tool = Tool()
    tool.servers[A] = FakeNamesrv(refusals=dict.fromkeys(range(1000), (1, HOSTILE)))

    result = tool.run(name, *ARGUMENTS[name])

    assert result.exit_code != 0
    assert not harmful(result.stdout + result.stderr)


def test_json_keeps_the_value_of_what_it_escapes() -> None:
    tool = Tool()
    tool.servers[A] = hostile_namesrv()
    value = tool.json("kvList", "-s", HOSTILE.strip())
    assert value == {"table": {HOSTILE: HOSTILE}}


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_compare_shows_strangers_harmlessly(form: list[str]) -> None:
    tool = Tool()
    tool.servers[A], tool.servers[B] = hostile_namesrv(), FakeNamesrv()
    result = CliRunner().invoke(compare, [A, B, *form], obj=Connector(tool.sender.opened))
    assert result.exit_code == 1
    assert not harmful(result.stdout + result.stderr)
    assert "owned" in result.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["journal", "cat"],
        ["journal", "tail"],
        ["journal", "replay"],
        ["journal", "replay", "--json"],
        ["journal", "verify"],
        ["journal", "ls"],
        ["why", HOSTILE, "--journal"],
        ["why", HOSTILE, "--json", "--journal"],
        ["route-at", HOSTILE, "--journal"],
        ["route-at", HOSTILE, "--json", "--journal"],
    ],
)
def test_what_a_journal_remembers_of_strangers_is_shown_harmlessly(words: list[str], tmp_path) -> None:
    story = Story()
    story.registers(HOSTILE, "a\u202e:1", topics=(HOSTILE, "with delete \x7f"), cluster=HOSTILE)
    story.alive()

    result = CliRunner().invoke(namekeeper, [*words, story.folder(tmp_path)])

    assert "Traceback" not in result.output
    assert result.exit_code == (1 if "verify" in words else 0), result.output  # it did not stop in order
    assert not harmful(result.stdout + result.stderr)
    if "cat" in words:
        assert any(
            HOSTILE in str(json.loads(line).values()) or "owned" in line
            for line in result.stdout.splitlines()
        )


def test_lines_that_we_laid_out_stay_lines(capsys) -> None:
    echo("a\tb\nc\x1b")
    note("d\u202e")
    assert capsys.readouterr() == ("a\tb\nc\\x1b\n", "d\\u202e\n")


def test_one_pipe_or_file_for_stdout_and_stderr_is_one_stream(tmp_path):
    code = "import sys; from namekeeper.cli.output import is_one_stream; sys.exit(is_one_stream())"
    pipe, gone = subprocess.PIPE, subprocess.DEVNULL
    with (tmp_path / "log").open("w") as file, (tmp_path / "other").open("w") as other:
        for out, err, is_one in [
            (pipe, subprocess.STDOUT, 1), (file, file, 1), (pipe, pipe, 0), (file, other, 0), (pipe, gone, 0),
        ]:  # fmt: skip
            done = subprocess.run(
                [sys.executable, "-c", code], stdout=out, stderr=err, timeout=60 * PATIENCE, check=False
            )
            assert done.returncode == is_one


@pytest.mark.parametrize(
    ("words", "is_json"), [(["-o", "json"], True), (["--output", "json"], True), (["-o", "wide"], False)]
)
def test_the_form_of_the_output_has_one_name_in_every_command(words, is_json):
    printed = Tool().run("topicList", *words).stdout
    assert printed.startswith("{") is is_json
