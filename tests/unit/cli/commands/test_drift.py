"""`namekeeper drift`: output, exit codes, several journals, bad input."""

import json

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from tests.unit.drift.fleet import A, align_ends, fleet
from tests.unit.drift.test_shadow import with_shadow


def run(*arguments):
    return CliRunner().invoke(namekeeper, ["drift", "--zone", "UTC", *arguments])


def journals(stories, path):
    """The options for the journal of each name server."""
    return [word for story in stories for word in ("--journal", story.folder(path / story.journal.namesrv))]


@pytest.fixture
def stories():
    found = fleet()
    found[2].connection_breaks(A)
    align_ends(found)
    return found


def test_verdicts_of_three_journals_as_a_table(stories, tmp_path):
    result = run(*journals(stories, tmp_path))
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    assert (result.exit_code, lines[0].split()) == (1, ["since", "verdict"])
    assert [" ".join(line.split()) for line in lines[2:]] == [
        f"2023-11-14 22:13:23.000 UTC broker-a ({A}) registers with 2 of 3 name servers (missing: ns-3)",
        "for 1 min ns-3: connection closed, 2023-11-14 22:13:23.000 UTC",
        "1 verdict on ns-1, ns-2, ns-3 at 2023-11-14 22:14:23.000 UTC.",
    ]


def test_a_folder_with_several_journals(stories, tmp_path):
    journals(stories, tmp_path)
    assert run("--journal", str(tmp_path)).exit_code == 1


def test_an_instant_before_it(stories, tmp_path):
    result = run("--at", "2023-11-14T22:13:22.900Z", *journals(stories, tmp_path))
    assert (result.exit_code, result.stdout) == (
        0, "These agree: ns-1, ns-2, ns-3 at 2023-11-14 22:13:22.900 UTC.\n",
    )  # fmt: skip


def test_a_change_on_its_way_is_a_note(stories, tmp_path):
    result = run("--at", "2023-11-14T22:13:24Z", *journals(stories, tmp_path))
    assert result.exit_code == 0
    assert result.stderr == "note: 1 difference does not count: perhaps a change on its way\n"


def test_json(stories, tmp_path):
    result = run("--json", *journals(stories, tmp_path))
    found = json.loads(result.stdout)
    (verdict,) = found["verdicts"]
    assert (result.exit_code, found["total"], found["unsettled"]) == (1, 1, 0)
    assert (found["at"], found["at_iso"]) == (1_700_000_063_000, "2023-11-14T22:14:23.000Z")
    assert [each["compared_with"] for each in found["name_servers"]] == [
        ["ns-2", "ns-3"], ["ns-1", "ns-3"], ["ns-1", "ns-2"],
    ]  # fmt: skip
    details = verdict.pop("details")
    assert verdict == {
        "kind": "broker_missing",
        "summary": f"broker-a ({A}) registers with 2 of 3 name servers (missing: ns-3)",
        "since": 1_700_000_003_000,
        "since_iso": "2023-11-14T22:13:23.000Z",
        "since_window_ms": 0,
        "is_since_known": True,
        "name_servers": ["ns-1", "ns-2", "ns-3"],
        "missing_at": ["ns-3"],
        "brokers": ["broker-a"],
        "broker_count": 1,
        "topics": [],
        "topic_count": 0,
    }
    assert details == [
        {
            "namesrv": "ns-3", "text": "connection closed", "at": 1_700_000_003_000,
            "at_iso": "2023-11-14T22:13:23.000Z", "window_ms": 0,
        }
    ]  # fmt: skip


def test_the_output_is_bounded(stories, tmp_path):
    stories[0].deleted("payments")
    stories[1].ordered("orders")
    align_ends(stories)
    result = run("--limit", "1", *journals(stories, tmp_path))
    assert "registers with 2 of 3" in result.stdout
    assert "payments" not in result.stdout
    assert "note: 2 verdicts more: give --limit 3" in result.stderr
    found = json.loads(run("--json", "--limit", "1", *journals(stories, tmp_path)).stdout)
    assert (len(found["verdicts"]), found["total"]) == (1, 3)


def test_names_from_the_network_are_printed_safely(tmp_path):
    stories = fleet(2)
    stories[0].ordered("evil\x1b[31m\nname", "x\x07")
    align_ends(stories)
    for form in ([], ["--json"]):
        result = run(*form, *journals(stories, tmp_path))
        assert result.exit_code == 1
        assert not {"\x1b", "\x07"} & set(result.stdout)
    assert "evil\\u001b[31m\\nname" in result.stdout


def test_one_name_server_has_nobody_to_be_compared_with(tmp_path):
    stories = fleet(1)
    result = run(*journals(stories, tmp_path))
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == "there are no two name servers to compare\n"


def test_a_name_server_beside_its_shadow_has_nobody_else_to_be_compared_with(tmp_path):
    stories = with_shadow(1)
    align_ends(stories)
    result = run(*journals(stories, tmp_path))
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "there are no two name servers to compare: clients do not ask shadow, which `namekeeper shadow` compares\n"
    )


def test_a_name_server_whose_records_ended_is_named(stories, tmp_path):
    align_ends(stories[:2], 600_000)
    result = run(*journals(stories, tmp_path))
    assert result.exit_code == 0
    assert result.stdout == "These agree: ns-1, ns-2 at 2023-11-14 22:24:23.000 UTC.\n"
    assert (
        "note: ns-3 is not compared: its records end long before those of the others (they end at"
        " 2023-11-14 22:14:23.000 UTC)" in result.stderr
    )


def test_brokers_that_left_days_ago_are_read_from_further_back(stories, tmp_path):
    for addr in list(stories[2].brokers):
        if addr != A:
            stories[2].connection_breaks(addr)
    for _ in range(2):
        align_ends(stories, 2 * 86_400_000)
        for story in stories:
            story.journal.begin_checkpoint("interval")
            story.journal.go_on_with_checkpoint(10_000)
    align_ends(stories)
    for story in stories:
        story.folder(tmp_path / story.journal.namesrv, per_segment=5)
    result = run("--journal", str(tmp_path))
    assert result.exit_code == 1
    assert "ns-3 answers but its brokers left: it has none of 2" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--back", "far"], "'far' is no duration"),
        (["--at", "25:00"], "'25:00' is not a time"),
        (["--limit", "0"], "0 is not in the range"),
        (["--journal", "."], "is not a journal"),
        (["--journal", ".", "--warehouse", "w"], "give either --warehouse URI"),
    ],
)
def test_what_can_not_be_used_is_refused(arguments, message):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_only_the_name_servers_with_a_label_are_compared(tmp_path):
    east, west = fleet(2, "east"), fleet(2, "west", "west")
    east[1].connection_breaks(A)
    align_ends([*east, *west])
    given = journals([*east, *west], tmp_path)
    result = run("--cluster", "west", *given)
    assert (result.exit_code, result.stdout) == (
        0,
        "These agree: west-1, west-2 at 2023-11-14 22:14:23.000 UTC.\n",
    )
    assert run("--cluster", "east", "--journal", str(tmp_path)).exit_code == 1
    assert run(*given).exit_code == 1


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("east", "west"), "the labels are east, west"),
        (("", ""), "no name server has a label (clusterLabel)"),
    ],
)
def test_a_label_that_no_name_server_has_is_named(labels, message, tmp_path):
    stories = [*fleet(1, labels[0]), *fleet(1, labels[1], "west")]
    align_ends(stories)
    result = run("--cluster", "north", *journals(stories, tmp_path))
    assert (result.exit_code, result.stderr) == (2, f"root: there is no cluster 'north': {message}\n")
