"""The tutorial about what happened works as it is written, up to where it needs Spark."""

import json
import re
import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.process.running import BIN, NameServerProcess, environment

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial-history.md"
TEXT = TUTORIAL.read_text()
TOPIC = "cluster-1-topic-00001"


class Reader:
    """Somebody who types what the tutorial says, with the places and times of this run."""

    def __init__(self, home: Path, servers: list[NameServerProcess]) -> None:
        addresses = ";".join(server.started().address for server in servers)
        self._env = {**environment(home), "NAMESRV_ADDR": addresses, "TZ": "UTC"}
        self._home = home
        self._places = {
            f"{server.folder.name}/journal/{port}": str(
                server.folder / "journal" / server.address.rpartition(":")[2]
            )
            for server, port in zip(servers, (9876, 9877), strict=True)
        }

    def types(self, begin: str, *more: str, **instead: str) -> subprocess.CompletedProcess[str]:
        """Run the only command of the tutorial that begins so, with some words put in the place of others."""
        (command,) = {
            line for line in re.findall(r"^    (.*)$", TEXT, re.MULTILINE) if line.startswith(begin)
        }
        words = [instead.get(word, self._places.get(word, word)) for word in shlex.split(command)]
        return self.runs(*words, *more)

    def runs(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return subprocess.run(
            [str(BIN / words[0]), *words[1:]],
            capture_output=True, text=True, env=self._env, cwd=self._home, timeout=50, check=False,
        )  # fmt: skip

    def records(self, place: str, kind: str) -> list[dict[str, Any]]:
        """Records of a kind in a journal."""
        done = self.runs("namekeeper", "journal", "cat", self._places[place], "--kind", kind)
        return [json.loads(line) for line in done.stdout.splitlines()]


def iso(ms: int) -> str:
    """An instant as `--at` takes it."""
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds")


def wiped_at(reader: Reader, place: str, broker: str) -> int:
    """When the write permission of a broker name was wiped."""
    (ts,) = (
        record["ts"]
        for record in reader.records(place, "topic_queues")
        if (record.get("cause"), record["broker_name"]) == ("wipe_write_perm", broker)
    )
    return ts


def gone_at(reader: Reader, place: str, addr: str) -> list[int]:
    """When a broker's registrations ended."""
    records = reader.records(place, "broker_live")
    return [record["ts"] for record in records if record["broker_addr"] == addr and record.get("gone")]


def test_the_trouble_is_as_told_and_the_journals_explain_it(tmp_path):
    with (
        NameServerProcess(tmp_path / "first", journal_namesrv_id="ns-1") as first,
        NameServerProcess(tmp_path / "second", journal_namesrv_id="ns-2") as second,
    ):
        reader = Reader(tmp_path, [first, second])
        fleet = reader.types("namekeeper fleet", "--speed", "fast")
        assert fleet.returncode == 0, fleet.stderr
        trouble = re.findall(r"^       \d:\d\d\.\d  (.*)$", TEXT, re.MULTILINE)
        assert len(trouble) == 11
        assert re.findall(r"^ +\d:\d\d\.\d  (.*)$", fleet.stderr, re.MULTILINE) == trouble

        # In a hurry each of them notices at its own time; the tutorial's instants lie between two troubles.
        dead = {port: gone_at(reader, "first/journal/9876", f"127.0.0.1:{port}") for port in (20_911, 20_921)}
        at = max(wiped_at(reader, "first/journal/9876", "cluster-1-broker-001"), dead[20_921][1])
        why = reader.types(f"namekeeper why {TOPIC} --at 19:02:21 --journal", **{"19:02:21": iso(at)})
        assert why.returncode == 0, why.stderr
        ns_1, _ = why.stdout.split("\n\n")
        assert re.match(r"ns-1 at .*: write permission was wiped by 127\.0\.0\.1:\d+\n", ns_1)
        assert "cluster-1-broker-001: 8 read and 8 write queues, R--, write permission wiped by" in ns_1

        at = max(dead[20_911][0], dead[20_921][0])
        why = reader.types(f"namekeeper why {TOPIC} --at 19:01:50", **{"19:01:50": iso(at)})
        assert "cluster-1-broker-002 (127.0.0.1:20921) lost its connection" in why.stdout.split("\n\n")[0]
        cut = wiped_at(reader, "second/journal/9877", "cluster-1-broker-002")
        why = reader.types(f"namekeeper why {TOPIC} --at 19:01:50", **{"19:01:50": iso(cut - 1)})
        assert re.match(r"ns-2 at .*: it had a route with queues to write to\n", why.stdout.split("\n\n")[1])
        route = reader.types(f"namekeeper route-at {TOPIC}", **{"19:01:50": iso(cut - 1)})
        assert re.search(r"cluster-1 +cluster-1-broker-002 +\{0=127\.0\.0\.1:20921\} +8 +8 +6", route.stdout)

        refunds = reader.types("namekeeper why refunds")
        assert "never registered, as far as its records go" in refunds.stdout
        sealed = reader.types("namekeeper journal seal first")
        assert re.fullmatch(r"ns-1-\w{8}-\d{13}-0{11}1-\d{12}\.jsonl\.gz\n", sealed.stdout), sealed.stderr


def test_the_pages_and_files_it_names_are_there():
    for page in re.findall(r"\]\(([\w/-]+\.md)\)", TEXT):
        assert (TUTORIAL.parent / page).exists(), page
    assert (TUTORIAL.parents[1] / "examples" / "ask_your_own_question.py").exists()
