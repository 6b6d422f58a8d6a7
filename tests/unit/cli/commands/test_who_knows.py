"""`namekeeper who-knows`: name servers side by side, exit codes, bad input."""

import json

import pytest
from click.testing import CliRunner

from namekeeper.cli.commands import who_knows as command
from namekeeper.cli.group import namekeeper
from namekeeper.errors import RemotingConnectError, RemotingError
from namekeeper.http.watchers import WatchedChange, WhoKnows

CHANGE = WatchedChange("5-9", ["T"], 1_700_000_000_000, "expired", None)


def knows(
    *,
    since: tuple[str, ...] = (),
    before: tuple[str, ...] = (),
    change: WatchedChange | None = CHANGE,
    more: int = 0,
):
    return WhoKnows(
        topic="T", revision="5-9", change=change, connections=9, since_count=len(since),
        before_count=len(before) + more, since=list(since), before=list(before),
    )  # fmt: skip


@pytest.fixture
def answers(monkeypatch):
    """What each name server answers."""
    given = {}

    async def ask(pages, topic, *, token, tls):
        assert (topic, token, tls) == ("T", "secret", None)
        return [given[str(page)] for page in pages]

    monkeypatch.setattr(command, "ask_who_knows", ask)
    return given


def run(*arguments):
    return CliRunner().invoke(
        namekeeper, ["who-knows", "T", "--token", "secret", "--zone", "UTC", *arguments]
    )


def test_each_name_server_says_who_has_not_asked_since(answers):
    answers["a:1"] = knows(since=("x:1", "y:1"), before=("z:1",))
    answers["b:2"] = knows(since=("x:1",), change=None)
    result = run("--http", "a:1;b:2")
    assert result.exit_code == command.EXIT_OLD
    assert result.stdout.splitlines() == [
        "a:1: T changed 2023-11-14 22:13:20.000 UTC: expired",
        "  2 connections have asked since, 1 not",
        "  not since: z:1",
        "b:2: T has not changed as far as is kept",
        "  1 connection has asked since, 0 not",
    ]


def test_when_everybody_has_asked_again_all_is_well(answers):
    answers["127.0.0.1:9886"] = knows(since=("x:1",))
    assert run().exit_code == 0


def test_a_topic_that_no_name_server_has_heard_of_may_be_misspelt(answers):
    """Otherwise a script that goes on when nobody holds the old route would go on."""
    answers["a:1"] = answers["b:2"] = knows(change=None)
    result = run("--http", "a:1;b:2")
    assert result.exit_code == 4
    assert "nobody asked for T, and it has not changed: is the name misspelt?" in result.stderr
    answers["b:2"] = knows()
    assert run("--http", "a:1;b:2").exit_code == 0
    answers["b:2"] = RemotingError("b:2", "set rememberLookups=true")
    assert run("--http", "a:1;b:2").exit_code == 2


def test_those_that_are_not_listed_are_counted(answers):
    answers["127.0.0.1:9886"] = knows(before=("x:1",), more=5)
    assert "5 more are not listed" in run().stderr


def test_json_has_everything(answers):
    answers["127.0.0.1:9886"] = knows(since=("x:1",))
    (value,) = json.loads(run("--json").stdout).values()
    assert (value["change"]["cause"], value["since"]) == ("expired", ["x:1"])


@pytest.mark.parametrize(
    ("error", "status"),
    [(RemotingError("a:1", "set rememberLookups=true"), 2), (RemotingConnectError("a:1", "gone"), 3)],
)
def test_a_name_server_that_can_not_say_hides_no_other_one(answers, error, status):
    answers["a:1"] = error
    answers["b:2"] = knows(before=("z:1",))
    result = run("--http", "a:1;b:2")
    assert (result.exit_code, result.stderr) == (status, f"namekeeper: name server {error}\n")
    assert "not since: z:1" in result.stdout
    said = json.loads(run("--http", "a:1;b:2", "--json").stdout)
    assert (said["a:1"], said["b:2"]["before"]) == ({"error": f"name server {error}"}, ["z:1"])


def test_an_address_that_is_none_is_refused():
    assert run("--http", "nonsense").exit_code == 2
