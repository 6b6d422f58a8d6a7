"""`namekeeper mcp`: what it needs, where it looks, who may ask."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from namekeeper.cli.commands import mcp as module
from namekeeper.cli.group import namekeeper
from namekeeper.errors import ConfigError, RemotingConnectError
from namekeeper.mcp.answers import Sources
from tests.support.pipeline.days import Day
from tests.unit.mcp.days import broker, write


def run(*words: str) -> Result:
    return CliRunner().invoke(namekeeper, ["mcp", *words])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Sources]:
    """The sources with which a server would have been served."""
    found: list[Sources] = []

    async def serve(server: object) -> None:
        assert server is None

    monkeypatch.setattr(module, "_serve_stdio", serve)
    monkeypatch.setattr("namekeeper.mcp.server.make_server", found.append)
    return found


def journal(folder: Path) -> Path:
    day = Day(1)
    day.register(1_000, broker("broker-a", 1, "orders"))
    return write(day, folder)


def test_without_the_sdk_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    result = run("--journal", str(journal(tmp_path)))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.partition(": ")[2] == (
        "the MCP SDK is not installed, or too old: pip install 'namekeeper[mcp]'\n"
    )


@pytest.mark.parametrize("words", [["why", "-h"], ["mcp", "-h"], ["incidents", "-h"], ["serve", "--help"]])
def test_no_other_command_imports_the_sdk(words: list[str]):
    code = (
        "import sys, runpy, atexit\n"
        f"sys.argv = ['namekeeper', *{words}]\n"
        "atexit.register(lambda: print([name for name in ('mcp', 'mcp_types', 'pydantic', 'starlette')"
        " if name in sys.modules]))\n"
        "runpy.run_module('namekeeper', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_journals_are_found_as_they_are_at_each_question(tmp_path: Path, asked: list[Sources]):
    result = run("--journal", str(tmp_path))
    assert (result.exit_code, len(asked)) == (0, 1)
    assert [*asked[0].journals()] == [str(tmp_path)]


def test_a_start_without_a_journal_says_so_and_goes_on(asked: list[Sources]):
    result = run()
    assert result.exit_code == 0
    assert "there is no journal in" in result.stderr
    (sources,) = asked
    with pytest.raises(ConfigError, match="there is no journal in"):
        sources.journals()


def test_a_start_with_a_folder_that_has_no_journal_says_so_and_goes_on(tmp_path: Path, asked: list[Sources]):
    result = run("--journal", str(tmp_path / "nowhere"))
    assert (result.exit_code, len(asked)) == (0, 1)
    assert "nowhere: No such file or directory" in result.stderr
    empty = run("--journal", str(tmp_path))
    assert (empty.exit_code, len(asked)) == (0, 2)
    assert f"{tmp_path} is not a journal" in empty.stderr


def test_the_file_of_an_observer_names_the_journals(tmp_path: Path, asked: list[Sources]):
    folder = journal(tmp_path / "observed")
    file = tmp_path / "observe.toml"
    file.write_text('journal = "observed"\n\n[clusters.east]\nname_servers = ["127.0.0.1:9876"]\n')
    assert run("-c", str(file)).exit_code == 0
    assert [*asked[0].journals()] == [str(folder)]
    result = CliRunner().invoke(namekeeper, ["why", "orders", "-c", str(file)])
    assert (result.exit_code, "ns-1_9876" in result.output) == (0, True)


def test_without_operators_pages_no_client_can_be_asked_about(tmp_path: Path, asked: list[Sources]):
    run("--journal", str(tmp_path))
    with pytest.raises(ConfigError, match="start namekeeper mcp with --http HOST:PORT"):
        asked[0].who_knows("orders")


def test_journals_here_are_not_read_over_the_pages_of_their_name_servers_too(
    tmp_path: Path, asked: list[Sources]
):
    """The pages are then asked about clients only; a journal that is found twice would be an error."""
    run("--journal", str(tmp_path), "--http", "127.0.0.1:1")
    assert [*asked[0].journals()] == [str(tmp_path)]
    (answer,) = asked[0].who_knows("orders").values()
    assert isinstance(answer, RemotingConnectError)


def test_rules_without_one_about_pages_are_refused(tmp_path: Path, asked: list[Sources]):
    rules = tmp_path / "access.toml"
    rules.write_text('mode = "enforce"\n[[rule]]\nname = "all"\nrequests = ["read"]\n')
    result = run("--port", "0", "--access-file", str(rules))
    assert (result.exit_code, asked) == (2, [])
    assert "no rule is about the pages" in result.stderr


@pytest.mark.parametrize(("host", "token", "needs"), [
    ("127.0.0.1", None, False), ("127.0.0.1", "mine", True), ("0.0.0.0", None, True), ("0.0.0.0", "mine", True),
])  # fmt: skip
def test_a_token_is_needed_off_loopback(
    host: str, token: str | None, needs: bool, capsys: pytest.CaptureFixture[str]
):
    doors = module._doors(host, token, [], None)
    assert (doors.refuse_token([]) is not None) == needs
    assert ("bearer token: " in capsys.readouterr().err) == (needs and token is None)
    assert doors.refuse_token([token or doors.token]) is None
