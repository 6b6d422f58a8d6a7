"""`namekeeper audit`: output and bad input."""

import json

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from tests.unit.answers.test_audit import journal, judged

SINCE = ("--since", "2023-11-14T00:00:00Z", "--zone", "UTC")


def run(*words: str):
    return CliRunner().invoke(namekeeper, ["audit", *words])


def test_lines_and_json(tmp_path):
    journal(tmp_path, judged(allowed=True, rule="operators", user="ops"))
    result = run(*SINCE, "--journal", str(tmp_path))
    what = "allowed DELETE_TOPIC_IN_NAMESRV (216) from 10.0.9.1:5, user ops by rule 'operators'"
    assert (result.exit_code, result.output) == (0, f"2023-11-14 22:13:22.000 UTC  {what}  [ns-1]\n")
    (entry,) = json.loads(run(*SINCE, "--json", "--journal", str(tmp_path)).output)
    assert (entry["user"], entry["code"], entry["allowed"]) == ("ops", 216, True)


def test_nothing_is_said_to_be_nothing(tmp_path):
    journal(tmp_path, judged())
    result = run("--since", "1 day ago", "--journal", str(tmp_path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert "only a name server with access rules (accessFile) notes who asks" in result.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--since", "soon"), "Invalid value for --since: 'soon' is not a time"),
        (("--since", "1 hour ago", "--to", "2 hours ago"), "1 hour ago is after --to 2 hours ago"),
        (("--journal", "/nowhere"), "can't read /nowhere"),
    ],
)
def test_what_can_not_be_used_is_one_line(words, says):
    result = run(*words)
    assert result.exit_code == 2
    assert says in result.stderr


def test_segments_that_can_not_be_read_are_noted_as_in_other_commands(tmp_path):
    journal(tmp_path, judged(), judged(), judged())
    broken = max(tmp_path.glob("*.jsonl*"))
    broken.write_bytes(broken.read_bytes()[:-20])
    for form in ([], ["--json"]):
        result = run(*SINCE, *form, "--journal", str(tmp_path))
        assert result.exit_code == 0
        assert f"note: {tmp_path}" in result.stderr
