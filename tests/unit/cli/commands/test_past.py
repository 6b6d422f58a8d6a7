"""`namekeeper past`: which name server, which time, what is printed, exit codes, bad input."""

import pytest
from click.testing import CliRunner

from namekeeper.cli.commands import past as command
from namekeeper.cli.group import namekeeper
from namekeeper.remoting.address import Address
from tests.unit.answers.story import Story
from tests.unit.cli.commands.test_route_at import iso


@pytest.fixture
def story():
    incident = Story()
    incident.registers()
    incident.alive()
    return incident


@pytest.fixture
def served(monkeypatch):
    """What would have been served; the process does not stay."""
    made = []

    class Server:
        def __init__(self, state, remark, *, host, port):
            made.append((state, remark, host, port))

    async def run_past(server, listening):
        listening(Address("127.0.0.1", 9_999))

    monkeypatch.setattr(command, "PastNameServer", Server)
    monkeypatch.setattr(command, "run_past", run_past)
    return made


def run(*arguments):
    return CliRunner().invoke(namekeeper, ["past", "--zone", "UTC", *arguments])


def test_it_serves_the_state_of_the_time_and_says_where(story, served, tmp_path):
    result = run("--at", iso(story.now - 1_000), "--journal", story.folder(tmp_path), "--listen-port", "9999")
    assert result.exit_code == 0, result.output
    assert result.output == (
        "ns_9876 at 2023-11-14 22:13:21.000 UTC: 3 topics, 1 broker; address 127.0.0.1:9999\n"
    )
    ((state, remark, host, port),) = served
    assert sorted(state.tables.topics()) == ["T", "more", "other"]
    assert remark == "this is the past: ns_9876 at 2023-11-14 22:13:21.000 UTC; nothing can be changed"
    assert (host, port) == ("127.0.0.1", 9_999)


def test_a_time_at_which_there_was_nothing_is_served_too(story, served, tmp_path):
    assert run("--at", iso(story.now - 1_500), "--journal", story.folder(tmp_path)).exit_code == 0
    assert served[0][0].tables.topics() == []


def test_by_default_it_is_the_last_state_also_of_a_name_server_that_is_stopped(story, served, tmp_path):
    story.later(1_000)
    story.journal.stop()
    assert run("--journal", story.folder(tmp_path)).exit_code == 0
    assert sorted(served[0][0].tables.topics()) == ["T", "more", "other"]
    assert run("--at", iso(story.now), "--journal", story.folder(tmp_path)).exit_code == 3


@pytest.mark.parametrize(
    ("at", "reason"), [("now", "not known yet"), ("1970-01-02T00:00Z", "the journal begins later")]
)
def test_what_is_not_known_is_not_served(story, served, tmp_path, at, reason):
    result = run("--at", at, "--journal", story.folder(tmp_path))
    assert (result.exit_code, reason in result.stderr, served) == (3, True, [])


@pytest.mark.parametrize(
    ("edit", "status", "said"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:-9]], 0, "note: "),  # what a crash leaves
        (lambda lines: lines[:5] + lines[6:], 3, "unknown, because records were lost"),
        (lambda lines: lines[2:], 3, "the journal begins later"),
        (lambda lines: [*lines[:-1], lines[-1].replace(b"server_alive", b"server_alivf")], 0, "altered"),
        (lambda _: [b"nonsense\n"], 3, "knows nothing yet"),
        (lambda _: [], 3, "knows nothing yet"),
    ],
)
def test_of_a_damaged_journal_no_part_is_served(story, served, tmp_path, edit, status, said):
    folder = story.folder(tmp_path)
    (segment,) = tmp_path.iterdir()
    segment.write_bytes(b"".join(edit(segment.read_bytes().splitlines(keepends=True))))
    result = run("--journal", folder)
    assert (result.exit_code, said in result.stderr) == (status, True), result.output
    assert [len(state.tables.topics()) for state, *_ in served] == ([3] if status == 0 else [])


def test_by_force_the_port_says_why_it_knows_nothing(story, served, tmp_path):
    result = run("--at", "now", "--force", "--journal", story.folder(tmp_path))
    assert (result.exit_code, "0 topics, 0 brokers" in result.stdout) == (0, True)
    ((state, remark, *_),) = served
    assert state is None
    assert "not known yet (knows up to 2023-11-14 22:13:22.000 UTC)" in remark


def test_of_several_name_servers_one_is_chosen_by_its_id(story, served, tmp_path):
    other = Story("other_1")
    other.alive()
    folders = ["--journal", story.folder(tmp_path / "a"), "--journal", other.folder(tmp_path / "b")]
    result = run("--at", iso(story.now), *folders)
    assert result.exit_code == 2
    assert "there are ns_9876, other_1: choose with --namesrv ID which one answers" in result.stderr
    assert run("--namesrv", "other_1", *folders).exit_code == 0
    assert len(served) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--at", "yesterday"], "'yesterday' is not a time"),
        (["--listen-port", "70000"], "--listen-port"),
        (["--namesrv", "who"], "there is no journal of 'who'"),
        (["--journal", "/nowhere"], "/nowhere"),
    ],
)
def test_bad_input(story, served, tmp_path, arguments, message):
    result = run("--journal", story.folder(tmp_path), *arguments)
    assert (result.exit_code, message in result.output) == (2, True), result.output
