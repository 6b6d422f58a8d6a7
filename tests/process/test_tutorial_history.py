"""The tutorial about what happened works as it is written, up to where it needs Spark."""

import asyncio
import re
import shlex
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import convert, json

from namekeeper.fleet.fleet import Fleet
from namekeeper.fleet.make_plan import make_plan
from namekeeper.fleet.plan import FleetPlan, FleetSettings, Heal, Partition
from namekeeper.model.route import ClusterInfo
from namekeeper.wire.codes import RequestCode
from tests.process.running import BIN, NameServerProcess, environment
from tests.support.documents.shapes import block_after, shows
from tests.support.system.processes import eventually
from tests.support.system.waiting import PATIENCE

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial-history.md"
TEXT = TUTORIAL.read_text()
TOPIC = "cluster-1-topic-00001"
BEGIN = "19:01:32"
"""When the tutorial's trouble began: what `date` printed there."""


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

    def finds(self, begin: str, *more: str, **instead: str) -> str:
        """The same; what it prints has to be what the tutorial shows, apart from times and numbers."""
        done = self.types(begin, *more, **instead)
        (command,) = {
            each for each in re.findall(r"^    (.*)$", TEXT, re.MULTILINE) if each.startswith(begin)
        }
        assert done.returncode in {0, 4}, done.stderr
        assert shows(block_after(TEXT, command), done.stdout), done.stdout
        return done.stdout

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
            capture_output=True, text=True, env=self._env, cwd=self._home, timeout=50 * PATIENCE, check=False,
        )  # fmt: skip


class Onlookers:
    """Makes sure that every trouble is over, everywhere, before the next, and notes an instant."""

    def __init__(self, plan: FleetPlan, servers: list[NameServerProcess]) -> None:
        self._plan = plan
        self._servers = servers
        self._quiet: list[tuple[int, int]] = []
        """Since when in the plan (milliseconds), and an instant (Unix milliseconds) at which it was so."""

    async def live_through(self) -> None:
        """All of the plan, one thing after the other."""
        async with Fleet(self._plan, ";".join(server.address for server in self._servers)) as running:
            cut: set[tuple[str, int]] = set()
            for action in self._plan.actions:
                assert await running.perform(action, at_once=True) is None
                match action:
                    case Partition(broker_addr=addr, namesrv=namesrv):
                        cut.add((addr, namesrv))
                    case Heal(broker_addr=addr, namesrv=namesrv):
                        cut.remove((addr, namesrv))
                    case _:
                        pass
                there = [
                    {addr for addr in running.registrars if (addr, number) not in cut}
                    for number in range(len(self._servers))
                ]
                self._quiet.append((action.at_ms, await asyncio.to_thread(self._look, there)))

    def at(self, clock: str) -> str:
        """The instant that stands for a time of the tutorial."""
        begin, asked = (datetime.strptime(text, "%H:%M:%S").replace(tzinfo=UTC) for text in (BEGIN, clock))
        passed_ms = (asked - begin) / timedelta(milliseconds=1)
        instant = next(instant for since, instant in reversed(self._quiet) if since <= passed_ms)
        return datetime.fromtimestamp(instant / 1_000, UTC).isoformat(timespec="milliseconds")

    def _look(self, there: list[set[str]]) -> int:
        """Wait until every name server knows who is there; an instant after all that was, before all to come."""
        for server, addrs in zip(self._servers, there, strict=True):
            eventually(lambda: brokers_of(server) == addrs, within=10, what=f"{addrs}")  # noqa: B023
        instant = next_millisecond()
        next_millisecond()
        return instant


def brokers_of(server: NameServerProcess) -> set[str]:
    """The addresses of all brokers that a name server knows."""
    info = json.decode(server.ask(RequestCode.GET_BROKER_CLUSTER_INFO).body, type=ClusterInfo)
    return {addr for broker in info.broker_addr_table.values() for addr in broker.broker_addrs.values()}


def next_millisecond() -> int:
    """Wait for the wall clock's next millisecond."""
    now = time.time_ns() // 1_000_000
    return eventually(
        lambda: later if (later := time.time_ns() // 1_000_000) > now else 0, within=10, what="a millisecond"
    )


def test_the_trouble_is_as_told(tmp_path):
    with NameServerProcess(tmp_path / "first") as first, NameServerProcess(tmp_path / "second") as second:
        fleet = Reader(tmp_path, [first, second]).types("namekeeper fleet", "--speed", "fast")
        assert fleet.returncode == 0, fleet.stderr
        trouble = re.findall(r"^       \d:\d\d\.\d  (.*)$", TEXT, re.MULTILINE)
        assert len(trouble) == 11
        assert re.findall(r"^ +\d:\d\d\.\d  (.*)$", fleet.stderr, re.MULTILINE) == trouble


def test_the_journals_explain_it(tmp_path):
    with (
        NameServerProcess(tmp_path / "first", journal_namesrv_id="ns-1") as first,
        NameServerProcess(tmp_path / "second", journal_namesrv_id="ns-2") as second,
    ):
        reader = Reader(tmp_path, [first, second])
        printed = json.decode(reader.types("namekeeper fleet", "--plan").stdout)
        onlookers = Onlookers(make_plan(convert(printed["settings"], FleetSettings)), [first, second])
        asyncio.run(onlookers.live_through())

        nobody_could_send = {"19:02:18": onlookers.at("19:02:18")}
        why = reader.finds(f"namekeeper why {TOPIC} --at 19:02:18 --journal", **nobody_could_send)
        for text in why.split("\n\n"):
            assert re.match(r"ns-[12] at .*: write permission was wiped by 127\.0\.0\.1:\d+[\n;]", text)
            assert "cluster-1-broker-001: 8 read and 8 write queues, R--, write permission wiped by" in text

        only_one_knew = {"19:01:50": onlookers.at("19:01:50")}
        why = reader.finds(f"namekeeper why {TOPIC} --at 19:01:50", **only_one_knew)
        ns_1, ns_2 = why.split("\n\n")
        assert re.match(
            r"ns-1 at .*: cluster-1-broker-002 lost its connection \(the peer closed it\), the last of 2 that had it\n",
            ns_1,
        )
        assert "cluster-1-broker-001 (127.0.0.1:20911) lost its connection" in ns_1
        assert re.match(r"ns-2 at .*: it had a route with queues to write to[\n;]", ns_2)
        route = reader.finds(f"namekeeper route-at {TOPIC}", **only_one_knew)
        assert re.search(r"cluster-1 +cluster-1-broker-002 +\{0=127\.0\.0\.1:20921\} +8 +8 +6", route)

        refunds = reader.finds("namekeeper why refunds")
        assert "never registered, as far as its records show" in refunds
        sealed = reader.types("namekeeper journal seal first")
        assert re.fullmatch(r"ns-1-\w{8}-\d{13}-0{11}1-\d{12}\.jsonl\.gz\n", sealed.stdout), sealed.stderr


def test_the_pages_and_files_it_names_are_there():
    for page in re.findall(r"\]\(([\w/-]+\.md)\)", TEXT):
        assert (TUTORIAL.parent / page).exists(), page
    assert (TUTORIAL.parents[1] / "examples" / "ask_your_own_question.py").exists()
