"""`namekeeper history`: output, bad input, following."""

import json

import pytest
from click.testing import CliRunner

from namekeeper.cli.commands import history as module
from namekeeper.cli.group import namekeeper
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.pipeline.duck import Duck
from tests.unit.answers.story import Story

SINCE = ("--from", "2023-11-14T00:00:00Z", "--zone", "UTC")


@pytest.fixture
def journals(tmp_path):
    words = []
    for name in ("a_1", "b_1"):
        story = Story(name)
        story.registers()
        story.wiped()
        words += ["--journal", story.folder(tmp_path / name)]
    return words


@pytest.fixture
def warehouse(tmp_path):
    """Of brokers that are there, and of one that went."""
    story = Story("a_1")
    story.registers()
    story.registers("gone-1", "10.0.0.9:1")
    story.unregisters("10.0.0.9:1")
    duck = Duck()
    make_gold(duck, duck.load([json.loads(line) for line in story.journal.lines()]))
    return ["--warehouse", duck.write_warehouse(tmp_path / "warehouse")]


def run(*words):
    return CliRunner().invoke(namekeeper, ["history", *words])


def test_two_name_servers_make_one_timeline(journals):
    result = run("T", *SINCE, *journals)
    lines = result.output.splitlines()
    assert result.exit_code == 0
    assert lines[-1] == (
        "2023-11-14 22:13:22.000 UTC  topic T on b0: RW- 4/4 queues -> R-- 4/4 queues"
        " (write permission wiped by peer:99)  [a_1, b_1]"
    )


def test_a_window_has_what_is_after_its_beginning_up_to_its_end(journals):
    window = ("--from", "2023-11-14T22:13:21Z", "--to", "2023-11-14T22:13:22Z", "--zone", "UTC")
    (line,) = run("T", *window, *journals).output.splitlines()
    assert "write permission wiped" in line


def test_as_json(journals):
    found = json.loads(run("b0", *SINCE, "--json", *journals).output)
    assert found[-1]["seen"] == {"a_1": 1_700_000_002_000, "b_1": 1_700_000_002_000}
    assert found[-1]["cause"] == "wipe_write_perm"


@pytest.mark.parametrize("name", ["T", "b0", "a0:1", "a0"])
def test_a_known_name_without_a_change_in_the_window_is_an_answer(journals, name):
    result = run(name, "--from", "2023-11-14T22:14:00Z", *journals)
    assert (result.exit_code, result.stderr) == (0, f"no change of {name} in this time\n")


@pytest.mark.parametrize(
    ("name", "near"), [("t_", "T"), ("b0_", "b0"), ("a0-1", "a0:1"), ("elsewhere", None)]
)  # fmt: skip
def test_a_name_without_any_record_is_no_answer_and_what_is_near_it_is_named(journals, name, near):
    suggested = f": did you mean {near}?" if near else ""
    for words in ((), ("--json",)):
        result = run(name, *SINCE, *words, *journals)
        assert result.exit_code == 4
        assert result.stderr == f"there is no record of a topic, broker or address '{name}'{suggested}\n"


@pytest.mark.parametrize(
    ("name", "near"),
    [("t_", "T"), ("b0_", "b0"), ("gone_1", "gone-1"), ("10.0.0.9:2", "10.0.0.9:1"), ("elsewhere", None)],
)  # fmt: skip
def test_in_a_warehouse_names_of_topics_brokers_and_addresses_are_near_also_of_those_that_are_gone(
    warehouse, name, near
):
    suggested = f": did you mean {near}?" if near else ""
    result = run(name, *SINCE, *warehouse)
    assert (result.exit_code, result.stderr) == (
        4, f"there is no record of a topic, broker or address '{name}'{suggested}\n",
    )  # fmt: skip
    assert run("gone-1", *SINCE, *warehouse).exit_code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--from", "soon"), "Invalid value for --from: 'soon' is not a time"),
        (("--from", "9998-01-01T00:00:00Z"), "is in the future: nothing is known of it"),
        (("--from", "1 hour ago", "--to", "2 hours ago"), "1 hour ago is after --to 2 hours ago"),
        (("--follow", "--json"), "--follow can't be used with --to or --json"),
        (("--journal", "/nowhere"), "can't read /nowhere"),
    ],
)
def test_what_can_not_be_used_is_one_line(words, says):
    result = run("T", *words)
    assert result.exit_code == 2
    assert says in result.stderr


def test_new_changes_are_followed(tmp_path, monkeypatch):
    story = Story()
    story.registers()
    folder = story.folder(tmp_path)
    pauses = []

    def sleep(_seconds):
        pauses.append(1)
        if len(pauses) == 3:
            raise KeyboardInterrupt
        if len(pauses) == 1:
            story.wiped()
            story.folder(tmp_path)

    monkeypatch.setattr(module.time, "sleep", sleep)
    result = run("T", *SINCE, "--journal", folder, "--follow")
    assert result.output.count("write permission wiped") == 1
    assert result.output.count("registration") == 1
