"""`namekeeper maintenance`: windows are started, listed and ended, and each action is in the log."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from namekeeper.cli.group import namekeeper
from namekeeper.expected.state_file import expected_text
from tests.unit.expected.seeds import HOSTILE, fleet, learned


class World:
    def __init__(self, folder: Path) -> None:
        self.file, self.log = folder / "expected.toml", folder / "expected.maintenance.jsonl"
        self.file.write_text(expected_text(learned(fleet())))

    def asks(self, word: str, *words: str) -> Result:
        return CliRunner().invoke(namekeeper, ["maintenance", word, "--expect", str(self.file), *words])

    def starts(self, *words: str) -> str:
        result = self.asks("start", "--for", "30m", *words)
        assert result.exit_code == 0, result.output
        return result.stdout.partition(":")[0]

    def listed(self, *words: str) -> list[dict[str, object]]:
        return json.loads(self.asks("list", "--json", *words).stdout)

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_window_is_started_listed_and_ended(world: World):
    id_ = world.starts(
        "--broker", "broker-a", "--topic", "t", "--cluster", "c", "--name-server", "ns", "--why", "up"
    )
    (window,) = world.listed()
    assert window["to"] - window["from"] == 30 * 60_000
    assert {**window, "from": 0, "to": 0, "from_iso": "", "to_iso": "", "who": ""} == {
        "id": id_, "from": 0, "to": 0, "from_iso": "", "to_iso": "", "who": "", "why": "up", "brokers": ["broker-a"],
        "topics": ["t"], "clusters": ["c"], "name_servers": ["ns"],
    }  # fmt: skip
    shown = world.asks("list").stdout
    assert "broker broker-a, topic t, cluster c, name server ns  by " in shown
    assert shown.endswith("  up\n")
    assert world.asks("end", id_, "--why", "done").output == f"{id_}: ended\n"
    assert world.asks("list").stdout == "no maintenance window\n"
    assert [each["id"] for each in world.listed("--all")] == [id_]
    start, end = world.lines
    assert (start["action"], end["action"], start["why"], end["why"]) == ("start", "end", "up", "done")
    assert start["who"] == end["who"] == window["who"]
    assert "@" in str(start["who"])


def test_a_window_may_begin_at_another_time(world: World):
    world.starts("--broker", "b", "--from", "2100-01-01T00:00:00Z")
    (window,) = world.listed()
    assert (window["from_iso"], window["to_iso"]) == ("2100-01-01T00:00:00.000Z", "2100-01-01T00:30:00.000Z")


def test_a_window_says_when_it_lasts(world: World):
    later = world.asks(
        "start", "--for", "30m", "--broker", "broker-a", "--from", "2100-01-01T00:00:00Z", "--zone", "UTC"
    )
    assert later.stderr == ""
    assert later.stdout.partition(": ")[2] == (
        "from 2100-01-01 00:00:00.000 UTC until 2100-01-01 00:30:00.000 UTC\n"
    )
    over = world.asks("start", "--for", "30m", "--broker", "broker-a", "--from", "2020-01-01T00:00:00Z")
    assert over.stderr == "note: the window is over: it covers only what began and ended in it\n"


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (("--broker", "brokera"), "has no broker 'brokera': did you mean broker-a?"),
        (("--topic", "order"), "has no topic 'order': did you mean orders?"),
        (("--cluster", "C1"), "has no cluster 'C1': did you mean c?"),
        (("--name-server", "ns1"), "has no name server 'ns1': did you mean ns-1?"),
    ],
)
def test_a_name_that_nobody_expects_is_a_note_because_it_may_be_misspelt(world: World, words, note):
    result = world.asks("start", "--for", "30m", *words)
    assert (result.exit_code, result.stderr) == (0, f"note: {world.file} {note}\n")
    assert len(world.listed()) == 1


def test_names_that_come_and_go_are_no_note(world: World):
    world.file.write_text(
        world.file.read_text()
        .replace("allow_other_brokers = false", "allow_other_brokers = true")
        .replace("allow_other_topics = false", "allow_other_topics = true")
    )
    assert world.asks("start", "--for", "30m", "--broker", "new", "--topic", "new").stderr == ""


def test_a_file_with_an_error_does_not_keep_a_window_from_starting(world: World):
    world.file.write_text("oops")
    result = world.asks("start", "--for", "30m", "--broker", "broker-a")
    assert (result.exit_code, "is not TOML" in result.stderr, len(world.listed())) == (0, True, 1)


def test_the_user_is_the_one_that_the_system_knows(world: World, monkeypatch):
    monkeypatch.setenv("USER", "mallory")
    monkeypatch.setenv("LOGNAME", "mallory")
    world.starts("--broker", "b")
    assert "mallory" not in str(world.lines[0]["who"])


def test_hostile_names_stay_data(world: World):
    world.starts("--broker", HOSTILE)
    assert world.listed()[0]["brokers"] == [HOSTILE]
    shown = world.asks("list").stdout
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 1


def test_a_line_that_can_not_be_read_is_a_note(world: World):
    world.starts("--broker", "b")
    with world.log.open("a") as file:
        file.write("nothing\n")
    result = world.asks("list")
    assert (result.exit_code, "line 2 makes no window" in result.stderr) == (0, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("start", "--for", "30m"), "say what is worked on: --broker"),
        (("start", "--broker", "b"), "Missing option '--for'"),
        (("start", "--broker", "b", "--for", "soon"), "'soon' is no duration"),
        (("start", "--broker", "b", "--for", "5m", "--from", "soon"), "'soon' is not a time"),
        (("end",), "Missing argument"),
        (("end", "none"), "no window 'none' lasts: see `namekeeper maintenance list`"),
    ],
)
def test_what_can_not_be_used_is_refused(world: World, words, message):
    result = world.asks(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert not world.log.exists()


def test_without_an_expected_state_there_are_no_windows(world: World):
    world.file.unlink()
    for words in (("start", "--for", "5m", "--broker", "b"), ("list",), ("end", "x")):
        result = world.asks(*words)
        assert (result.exit_code, "does not exist: `namekeeper expect learn` writes it" in result.stderr) == (
            2,
            True,
        )
