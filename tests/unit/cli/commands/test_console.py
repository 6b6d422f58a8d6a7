"""`namekeeper console`: what it opens, and what it refuses. The page itself: tests/browser."""

import pytest
from click.testing import CliRunner

from namekeeper.cli.commands import console
from namekeeper.cli.group import namekeeper
from namekeeper.history.sources.running import RunningSource
from tests.unit.answers.story import Story


def test_access_rules_must_say_something_of_pages(tmp_path):
    story = Story("a_1")
    story.registers()
    folder = story.folder(tmp_path / "a_1")
    rules = tmp_path / "access.toml"
    words = ["console", "--journal", folder, "--access-file", str(rules)]
    rules.write_text('mode = "enforce"\n[[rule]]\nname = "r"\nrequests = ["any"]\n')
    result = CliRunner().invoke(namekeeper, words)
    assert (result.exit_code, "no rule is about the pages" in result.output) == (2, True)
    rules.unlink()
    assert "access.toml can't be read" in CliRunner().invoke(namekeeper, words).output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--journal", "/nowhere"), "can't read /nowhere"),
        (("--namesrv", "no port"), "no port"),
        (("--port", "99999"), "99999 is not in the range"),
        (("--warehouse", "/nowhere/at/all"), "no warehouse"),
        (("--warehouse", "w", "--journal", "j"), "give either --warehouse URI, or journals"),
        (("--http", "no port"), "no port"),
    ],
)
def test_what_can_not_be_used_is_refused(words, says):
    result = CliRunner().invoke(namekeeper, ["console", *words])
    assert result.exit_code == 2
    assert says in result.output


@pytest.mark.parametrize(
    ("words", "environment", "asked"),
    [
        ((), "192.0.2.1:9876;192.0.2.2:9876", ["192.0.2.1:9876", "192.0.2.2:9876"]),
        (("-n", "192.0.2.3:9876"), "192.0.2.1:9876", ["192.0.2.3:9876"]),
        (("--namesrv", "192.0.2.3:9876"), "192.0.2.1:9876", ["192.0.2.3:9876"]),
        (("--namesrvAddr", "192.0.2.3:1;192.0.2.4:2"), "", ["192.0.2.3:1", "192.0.2.4:2"]),
    ],
)
def test_name_servers_of_other_hosts_are_asked(words, environment, asked, tmp_path, monkeypatch):
    given = []

    async def no_server(*_args, **_settings):
        pass

    monkeypatch.setattr(console, "_run", no_server)
    nobody = RunningSource((), None, 1)
    monkeypatch.setattr(console, "running_source", lambda lists, *_: given.extend(lists) or nobody)
    env = {"NAMESRV_ADDR": environment, "HOME": str(tmp_path)}
    result = CliRunner(env=env).invoke(namekeeper, ["console", *words])
    assert (result.exit_code, given) in [(0, asked), (0, [";".join(asked)])], result.output


def test_without_journal_and_addresses_it_says_where_it_looked(tmp_path):
    result = CliRunner(env={"NAMESRV_ADDR": None, "HOME": str(tmp_path)}).invoke(namekeeper, ["console"])
    assert (result.exit_code, "there is no journal in" in result.output) == (2, True)
