"""People plan by HTTP: a console with access rules, two users, and an edit by hand."""

import json
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from namekeeper.cli.group import namekeeper
from namekeeper.expected.plan import digest_of
from namekeeper.expected.state_file import expected_text
from tests.process.running import environment
from tests.support.system.processes import Process, eventually
from tests.unit.expected.seeds import fleet, learned

RULES = """
mode = "enforce"
keys = "keys.toml"
[[rule]]
name = "people"
requests = ["http"]
users = ["alice", "bob"]
[[rule]]
name = "planners"
requests = ["planning"]
users = ["alice"]
[[rule]]
name = "test team"
requests = ["planning"]
brokers = ["test-*"]
users = ["bob"]
"""


def test_two_users_plan_and_one_is_refused(tmp_path: Path):
    stories = fleet()
    for story in stories:
        story.folder(tmp_path / "journals" / story.journal.namesrv)
    expected, edited = tmp_path / "expected.toml", tmp_path / "edit.toml"
    expected.write_text(expected_text(learned(stories)))
    (tmp_path / "access.toml").write_text(RULES)
    (tmp_path / "keys.toml").write_text('[users]\nalice = "a-key"\nbob = "b-key"\n')
    (tmp_path / "keys.toml").chmod(0o600)
    words = [
        sys.executable, "-m", "namekeeper", "console", "--journal", str(tmp_path / "journals"), "--port", "0",
        "--expect", str(expected), "--access-file", str(tmp_path / "access.toml"),
    ]  # fmt: skip
    with Process("console", words, output=tmp_path / "out.txt", env=environment(tmp_path)) as console:
        page = console.await_line(r"http://127.0.0.1:\d+")[0].removeprefix("http://")

        def types(user: str, *line: str) -> Result:
            token = {"NAMEKEEPER_HTTP_TOKEN": f"{user}-key"}
            return CliRunner(env=token).invoke(namekeeper, [*line, "--http", page])

        start = ("maintenance", "start", "--for", "30m", "--broker")
        window = types("a", *start, "broker-a", "--why", "new disks").stdout.partition(":")[0]
        refused = types("b", *start, "broker-a")
        assert refused.exit_code == 2
        assert "refuses: user bob, brokers=broker-a, is refused: no rule covers it (HTTP" in refused.stderr
        assert types("b", "maintenance", "end", window).exit_code == 2
        assert types("b", *start, "test-1").exit_code == 0
        listed = json.loads(types("b", "maintenance", "list", "--json").stdout)
        assert [each["brokers"] for each in listed] == [["broker-a"], ["test-1"]]
        assert types("a", "maintenance", "end", window).exit_code == 0

        digest = types("a", "expect", "get", "--expect", str(edited)).stdout.split()[-1]
        new = edited.read_text().replace("[0, 1]", "[0]")
        edited.write_text(new)
        put = ("expect", "put", "--expect", str(edited), "--replaces", digest)
        assert types("b", *put).exit_code == 2
        assert types("a", *put, "--why", "one member").exit_code == 0
        assert "it has changed" in types("a", *put).stderr
        assert expected.read_text() == new

        log = expected.with_suffix(".maintenance.jsonl")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert [(each["action"], each["who"].partition("@")[0], each["rule"]) for each in lines] == [
            ("start", "alice", "planners"), ("start", "bob", "test team"), ("end", "alice", "planners"),
            ("replace", "alice", "planners"),
        ]  # fmt: skip
        by_hand = f"{new}# by hand\n"
        expected.write_text(by_hand)
        eventually(
            lambda: f"digest {digest_of(by_hand.encode())}, written " in console.output.read_text(),
            within=60,
            what="a line about the edit",
        )
        assert "POST /api/maintenance of 127.0.0.1 is refused: user bob, " in console.output.read_text()
