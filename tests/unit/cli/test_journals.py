"""The journals of the name servers of this host are found without being named."""

import contextlib

import pytest
from click.testing import CliRunner

from namekeeper.cli import journals
from namekeeper.cli.group import namekeeper
from namekeeper.cli.journals import journals_here, journals_of_this_host
from namekeeper.errors import ConfigError, RemotingConnectError, RemotingTimeoutError, ResponseError
from namekeeper.journal.disk.heard_file import HeardTimes, save_heard
from namekeeper.journal.disk.lock import take_lock
from tests.unit.answers.story import Story


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("NAMEKEEPER_JOURNAL_PATH", "NAMEKEEPER_KV_CONFIG_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def a_journal(folder, namesrv="ns_9876"):
    story = Story(namesrv)
    story.registers()
    story.folder(folder)
    return str(folder)


def test_why_as_the_readme_types_it(home):
    """`why TOPIC --at "2 hours ago"`, without the name of any folder."""
    for port in ("9876", "9877"):
        a_journal(home / "namesrv/journal" / port, f"ns_{port}")
    result = CliRunner().invoke(namekeeper, ["why", "T", "--zone", "UTC"])
    assert result.exit_code == 0, result.output
    assert result.output.count("it had a route with queues to write to") == 2
    result = CliRunner().invoke(namekeeper, ["why", "T", "--at", "2 hours ago"])
    assert result.exit_code == 3
    assert "the last record is older" in result.output


def test_route_at_finds_them_by_a_properties_file(home):
    a_journal(home / "data/journal/1234")
    (home / "a.properties").write_text(f"kvConfigPath={home}/data/kv.json\n")
    found = CliRunner().invoke(namekeeper, ["route-at", "T", "-c", str(home / "a.properties")])
    assert "b0" in found.output


def test_a_journal_path_is_where_the_file_says(home):
    folder = a_journal(home / "elsewhere")
    file = home / "b.properties"
    file.write_text(f"journalPath={folder}\n")
    assert journals_of_this_host([str(file), str(file)]) == [folder]


def test_where_it_was_looked_for_is_said(home):
    with pytest.raises(ConfigError, match=f"there is no journal in {home}/namesrv/journal/<port>: give"):
        journals_of_this_host([])
    result = CliRunner().invoke(namekeeper, ["why", "T"])
    assert (result.exit_code, "-n HOST:PORT if it runs" in result.output) == (2, True)


def test_without_a_journal_here_those_of_the_environment_s_name_servers_are_read(home, monkeypatch):
    theirs = a_journal(home / "theirs")
    asked = []

    def here(addresses, _connector=None, **_):
        asked.extend(addresses)
        return ([theirs] if addresses else []), []

    monkeypatch.setattr("namekeeper.cli.journals.journals_here", here)
    monkeypatch.setenv("NAMESRV_ADDR", "ns-1:9876")
    result = CliRunner().invoke(namekeeper, ["why", "T"])
    assert (result.exit_code, asked) == (0, ["ns-1:9876"])
    assert (
        "note: there is no journal on this host: this reads those of NAMESRV_ADDR, ns-1:9876" in result.stderr
    )


def test_a_journal_here_counts_before_the_environment_s_name_servers(home, monkeypatch):
    a_journal(home / "namesrv/journal/9876")
    monkeypatch.setenv("NAMESRV_ADDR", "nowhere.invalid:9876")
    result = CliRunner().invoke(namekeeper, ["why", "T"])
    assert (result.exit_code, "NAMESRV_ADDR" in result.stderr) == (0, False)


@pytest.mark.parametrize(
    "words", [["why", "T"], ["route-at", "T"], ["drift"], ["expect", "learn", "--expect", "expected.toml"]]
)
def test_the_present_of_observed_name_servers_is_that_of_their_last_answer(home, monkeypatch, words):
    """An answer is always older than the present, so `--at now` was not known yet."""
    monkeypatch.chdir(home)
    folders = [a_journal(home / name, name) for name in ("a", "b")]
    answered = Story().now + 2_000
    with contextlib.ExitStack() as written:
        for folder in folders:
            save_heard(folder, HeardTimes(0, [], ts=answered, is_observed=True))
            written.callback(take_lock(folder))
        at = ["--at", str(answered + 1_000), "--journal", folders[0], "--journal", folders[1]]
        result = CliRunner().invoke(namekeeper, [*words, *at])
    assert result.exit_code == 0, result.output


def test_a_warehouse_and_journals_at_once_are_refused(home):
    result = CliRunner().invoke(namekeeper, ["why", "T", "--warehouse", "w", "-c", "x"])
    assert (result.exit_code, "give either --warehouse URI" in result.output) == (2, True)


def test_a_name_server_of_this_host_is_found_by_its_address(home):
    for port in ("9876", "9877"):
        a_journal(home / "namesrv/journal" / port, f"ns_{port}")
    words = ["T", "--zone", "UTC", "-n", "127.0.0.1:9877"]
    for command in (
        ["why", *words],
        ["history", *words, "--from", "2023-11-14T00:00:00Z"],
        ["route-at", *words],
    ):
        found = CliRunner().invoke(namekeeper, command)
        assert found.exit_code == 0, found.output
        assert ("ns_9877" in found.output, "ns_9876" in found.output) == (True, False)
    here, others = journals_here(["localhost:9876;127.0.0.1:9877", "127.0.0.1:9878;192.0.2.1:9876"])
    assert here == [str(home / "namesrv/journal" / port) for port in ("9876", "9877")]
    assert list(map(str, others)) == ["127.0.0.1:9878", "192.0.2.1:9876"]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("127.0.0.1:1", "127.0.0.1:1 has no journal on this host, and can't be asked for it: "),
        ("what is this", "what is this"),
    ],
)
def test_an_address_without_a_journal_says_what_to_do(home, address, says):
    result = CliRunner().invoke(namekeeper, ["why", "T", "-n", address])
    assert (result.exit_code, says in result.stderr) == (2, True), result.output


def test_a_journal_that_is_named_needs_no_settings(home, monkeypatch):
    """So what is in the environment is nothing to warn of."""
    monkeypatch.setenv("NAMEKEEPER_SUCH_A_THING", "1")
    words = ["why", "T", "--journal", a_journal(home / "elsewhere")]
    assert "NAMEKEEPER_SUCH_A_THING" not in CliRunner().invoke(namekeeper, words).output


def at_port(home, monkeypatch, answer) -> tuple[list[str], list[str]]:
    """What is found for port 9876, where an earlier server left a journal, if the present one answers so."""
    a_journal(home / "namesrv/journal/9876")

    def properties(_address, _connector):
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(journals, "properties_of", properties)
    found, others = journals_here(["127.0.0.1:9876"])
    return found, list(map(str, others))


def test_a_server_that_runs_is_asked_where_it_writes(home, monkeypatch):
    theirs = home / "var/journal/9876"
    theirs.mkdir(parents=True)
    release = take_lock(str(theirs))
    answer = {"journalEnable": "true", "kvConfigPath": f"{home}/var/kv.json", "journalPath": ""}
    assert at_port(home, monkeypatch, answer) == ([str(theirs)], [])
    named = {**answer, "journalPath": str(theirs), "kvConfigPath": "/elsewhere/kv.json"}
    assert at_port(home, monkeypatch, named) == ([str(theirs)], [])
    release()
    assert at_port(home, monkeypatch, answer) == ([], ["127.0.0.1:9876"])


@pytest.mark.parametrize(
    "answer",
    [
        {"journalEnable": "true", "kvConfigPath": "/in/a/container/kv.json"},
        {"journalEnable": "true", "journalPath": "relative"},
        ResponseError("127.0.0.1:9876", 16, "no rule lets you"),
        RemotingTimeoutError("127.0.0.1:9876", "no answer"),
    ],
)
def test_a_journal_that_nobody_writes_to_is_not_that_of_a_server_that_runs(home, monkeypatch, answer):
    assert at_port(home, monkeypatch, answer) == ([], ["127.0.0.1:9876"])


def test_the_usual_place_in_a_container_is_another_folder(home, monkeypatch):
    answer = {"journalEnable": "true", "kvConfigPath": f"{home}/namesrv/kvConfig.json"}
    assert at_port(home, monkeypatch, answer) == ([], ["127.0.0.1:9876"])
    release = take_lock(str(home / "namesrv/journal/9876"))
    assert at_port(home, monkeypatch, answer) == ([str(home / "namesrv/journal/9876")], [])
    assert at_port(home, monkeypatch, ResponseError("a", 16, "no"))[1] == []
    release()


@pytest.mark.parametrize(
    "answer", [{"journalEnable": "false"}, {"kvConfigPath": "/opt/namesrv/kvConfig.json"}]
)
def test_a_server_without_a_journal_does_not_answer_from_that_of_an_earlier_one(home, monkeypatch, answer):
    with pytest.raises(
        ConfigError, match=r"127\.0\.0\.1:9876 runs without a journal .*--journal .*/journal/9876"
    ):
        at_port(home, monkeypatch, answer)


def test_of_a_server_that_does_not_run_the_journal_is_at_the_usual_place(home, monkeypatch):
    found = at_port(home, monkeypatch, RemotingConnectError("127.0.0.1:9876", "refused"))
    assert found == ([str(home / "namesrv/journal/9876")], [])
