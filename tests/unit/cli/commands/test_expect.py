"""`namekeeper expect`: learn, check, exit codes, bad input."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from namekeeper.cli.group import namekeeper
from namekeeper.expected.maintenance import MaintenanceLog, Scope, log_beside
from namekeeper.expected.state_file import read_expected
from tests.differential.bodies import TopicConfig
from tests.unit.answers.story import Story
from tests.unit.drift.fleet import align_ends
from tests.unit.expected.seeds import HOSTILE, MASTER_A, SETTLED_MS, SLAVE_A, fleet, reregisters


class World:
    """A fleet, the journals of its name servers, and a file of what must be there."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.stories = folder, fleet()
        self.file = str(folder / "expected.toml")

    def asks(self, *words: str, stories: list[Story] | None = None) -> Result:
        journals = [
            word
            for story in stories or self.stories
            for word in ("--journal", story.folder(self.folder / story.journal.namesrv))
        ]
        command = ["expect", *words, "--expect", self.file, "--zone", "UTC", *journals]
        return CliRunner().invoke(namekeeper, command)

    def loses_slave(self) -> None:
        self.stories[1].connection_breaks(SLAVE_A)
        align_ends(self.stories, SETTLED_MS)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def learned(world: World) -> World:
    assert world.asks("learn").exit_code == 0
    return world


def test_what_is_there_is_learned_and_nothing_deviates_from_it(world: World):
    result = world.asks("learn")
    assert (result.exit_code, result.output) == (
        0, f"{world.file}: 1 cluster, 2 broker names, 4 topics as of 2023-11-14 22:16:44.000 UTC: review it\n",
    )  # fmt: skip
    assert read_expected(world.file).clusters[0].name == "c"
    checked = world.asks("check")
    assert (checked.exit_code, checked.output) == (
        0, f"nothing deviates from {world.file} at 2023-11-14 22:16:44.000 UTC, as far as is known\n",
    )  # fmt: skip


def test_a_file_that_is_there_is_replaced_only_by_force(learned: World):
    before = Path(learned.file).read_text()
    learned.loses_slave()
    refused = learned.asks("learn")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "is there: compare it by `namekeeper expect check`, or give --force" in refused.stderr
    assert Path(learned.file).read_text() == before
    assert learned.asks("learn", "--force").exit_code == 0
    assert Path(learned.file).read_text() != before
    assert Path(f"{learned.file}.bak").read_text() == before


def test_a_since_in_the_future_is_a_note(learned: World):
    file = Path(learned.file)
    file.write_text(file.read_text().replace('since = "2023', 'since = "2123'))
    assert learned.asks("check").stderr == (
        f"note: {file}: nothing is an incident before its `since`, 2123-11-14 22:16:44.000 UTC\n"
    )


def test_a_deviation_is_named_and_ends_with_1(learned: World):
    learned.loses_slave()
    result = learned.asks("check")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        ("broker broker-a lacks a member: id 0 instead of 0, 1, at ns-2 (1 of 3 name servers)"
         "  since 2023-11-14 22:16:45.000 UTC  connection closed"),
        f"1 deviation from {learned.file} at 2023-11-14 22:20:05.000 UTC",
    ]  # fmt: skip


def test_an_instant_before_it(learned: World):
    learned.loses_slave()
    assert learned.asks("check", "--at", "2023-11-14T22:16:44.900Z").exit_code == 0
    assert learned.asks("learn", "--force", "--at", "2023-11-14T22:16:44.900Z").exit_code == 0
    assert read_expected(learned.file).clusters[0].brokers["broker-a"] == {0, 1}


def test_json(learned: World):
    learned.loses_slave()
    result = learned.asks("check", "--json")
    found = json.loads(result.stdout)
    (one,) = found.pop("deviations")
    assert (result.exit_code, found) == (
        1, {"at": 1_700_000_405_000, "at_iso": "2023-11-14T22:20:05.000Z", "total": 1, "planned": 0, "unsettled": 0, "unknown": []},
    )  # fmt: skip
    assert one == {
        "kind": "member_missing", "cluster": "c", "topic": None, "brokers": ["broker-a"], "expected": "0, 1",
        "actual": "0", "name_servers": ["ns-2"], "of_name_servers": 3, "since": 1_700_000_205_000,
        "since_iso": "2023-11-14T22:16:45.000Z", "to": None, "window_ms": 0, "is_since_known": True,
        "cause": "channel_closed", "peer": None, "closed_by": None, "planned": "",
        "text": "broker broker-a lacks a member: id 0 instead of 0, 1, at ns-2 (1 of 3 name servers)",
    }  # fmt: skip


def test_planned_deviations_are_marked_and_end_with_0(learned: World):
    learned.loses_slave()
    log = MaintenanceLog(log_beside(learned.file))
    id_ = log.start(
        Scope(brokers=("broker-a",)), 1_700_000_200_000, 1_800_000_000_000, who="a", why="", now=1
    )
    result = learned.asks("check")
    assert result.exit_code == 0
    assert f"planned: window {id_}" in result.stdout
    assert result.stdout.endswith("UTC, of which 1 planned\n")


def test_a_name_server_that_is_not_known_ends_with_3(learned: World):
    result = learned.asks("check", stories=learned.stories[:2])
    assert result.exit_code == 3
    assert result.stderr == "note: ns-3 is expected, and its state is not known\n"
    learned.loses_slave()
    assert learned.asks("check", stories=learned.stories[:2]).exit_code == 1


def test_a_name_server_that_is_not_expected_is_a_note(learned: World):
    learned.stories.append(Story("ns-4"))
    learned.stories[3].registers("broker-a", MASTER_A)
    align_ends(learned.stories)
    result = learned.asks("check")
    assert result.exit_code == 0
    assert f"note: ns-4 is in no cluster of {learned.file}: it is not compared\n" in result.stderr


def test_a_change_on_its_way_is_a_note(learned: World):
    learned.stories[1].connection_breaks(SLAVE_A)
    align_ends(learned.stories, 2_000)
    result = learned.asks("check")
    assert result.exit_code == 0
    assert result.stderr == "note: 1 deviation does not count: perhaps a change on its way\n"


def test_the_output_is_bounded_and_printed_safely(learned: World):
    for number in range(3):
        reregisters(learned.stories[0], MASTER_A, f"{HOSTILE}{number}", TopicConfig())
    align_ends(learned.stories, SETTLED_MS)
    result = learned.asks("check", "--limit", "2")
    assert result.exit_code == 1
    assert "and 1 more deviation: give --limit 3" in result.stdout
    assert not {"\x1b"} & set(result.stdout)
    assert len(result.stdout.splitlines()) == 4
    found = json.loads(learned.asks("check", "--json").stdout)
    assert [each["topic"] for each in found["deviations"]] == [f"{HOSTILE}{number}" for number in range(3)]
    assert learned.asks("learn", "--force").exit_code == 0
    assert learned.asks("check").exit_code == 1  # two name servers lack these topics


def test_nothing_is_written_if_nothing_is_known(world: World):
    result = world.asks("learn", "--at", "2023-11-14T00:00:00Z")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "nothing is known of that time: nothing was written" in result.stderr
    assert not Path(world.file).exists()


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        (("check",), None, "does not exist"),
        (("check",), "since = 1", "it expects no cluster"),
        (("check",), "[[", "is not TOML"),
        (("check", "--at", "25:00"), "", "'25:00' is not a time"),
        (("check", "--limit", "0"), "", "0 is not in the range"),
        (("learn", "--at", "soon"), None, "'soon' is not a time"),
    ],
)
def test_what_can_not_be_used_is_refused(world: World, words, text, message):
    if text is not None:
        Path(world.file).write_text(text)
    result = world.asks(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_folder_that_can_not_be_written_is_one_line(world: World):
    Path(world.file).mkdir()
    result = world.asks("learn", "--force")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
