"""The process of the shadow: its command, what it prints, and that it is started again, and ended."""

import asyncio
import itertools
import os
import sys
from collections.abc import Sequence

import pytest

from namekeeper.cli.serve import main as serve
from namekeeper.journal.settings import DAY_MS, Limits
from namekeeper.observe import shadow_server
from namekeeper.observe.config import ObservedCluster, Observing, ShadowSettings
from namekeeper.observe.shadow_server import BOOT_LINE, ShadowServer, serve_words
from namekeeper.remoting.address import Address
from tests.support.system.waiting import PATIENCE

LIMITS = Limits()
WITHIN = 20 * PATIENCE
SERVES = (
    f"print('{BOOT_LINE} serializeType=JSON, address 0.0.0.0:9877', flush=True); import sys; sys.stdin.read()"
)


def words(label: str = "", config_file: str = "", limits: Limits = LIMITS) -> Sequence[str]:
    cluster = ObservedCluster(label, (Address("h", 9876),))
    return serve_words(Observing("j", (cluster,), limits=limits), cluster, ShadowSettings(9877, config_file))


def flags(some: Sequence[str]) -> dict[str, str]:
    values = [*some[some.index("serve") + 1 :]]
    return {name: value for name, value in itertools.pairwise(values) if name.startswith("-")}


def test_all_that_a_shadow_writes_is_below_the_folder_of_the_journals():
    found = flags(words("east", "/etc/namesrv.properties"))
    assert (found["-c"], found["--listen-port"]) == ("/etc/namesrv.properties", "9877")
    assert (found["--journal-path"], found["--journal-namesrv-id"]) == ("j/east.shadow", "east.shadow")
    for name in ("--kv-config-path", "--config-store-path", "--log-root"):
        assert found[name].startswith("j/east.shadow-files/")
    assert (found["--cluster-label"], found["--http-port"]) == ("east", "-1")


@pytest.mark.parametrize(
    ("limits", "size", "days"),
    [
        (Limits(), 4 << 30, 30),
        (Limits(1, 1), 1 << 20, 1),
        (Limits(1 << 21, 99_999 * DAY_MS), 1 << 21, 36_500),
    ],
)
def test_its_journal_has_the_retention_of_the_others_within_the_limits_of_the_properties(limits, size, days):
    found = flags(words(limits=limits))
    assert (found["--journal-retention-bytes"], found["--journal-retention-days"]) == (str(size), str(days))


def test_the_server_understands_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    every = [*words()]
    assert serve([*every[every.index("serve") + 1 :], "-p"]) == 0
    printed = capsys.readouterr().out.splitlines()
    for line in (
        "listenPort=9877",
        "journalPath=j/shadow",
        "clusterLabel=",
        "journalEnable=true",
        "httpPort=-1",
    ):
        assert line in printed


class Shadow:
    """A shadow that runs a program of Python, and its lines."""

    def __init__(self, program: str) -> None:
        self.lines: list[str] = []
        self.server = ShadowServer("shadow", [sys.executable, "-c", program], self._line)
        self._changed = asyncio.Event()

    async def until(self, line: str, times: int = 1) -> None:
        """Run it until it has printed a line so many times; then end it."""
        task = asyncio.create_task(self.server.run())
        async with asyncio.timeout(WITHIN):
            while self.lines.count(line) < times:
                self._changed.clear()
                await self._changed.wait()
        self.problem, self.address = self.server.problem, self.server.address
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def _line(self, line: str) -> None:
        self.lines.append(line)
        self._changed.set()


async def test_it_serves_once_it_listens_and_ends_with_its_observer(tmp_path):
    pid = tmp_path / "pid"
    shadow = Shadow(f"import os; open({str(pid)!r}, 'w').write(str(os.getpid())); {SERVES}")
    assert shadow.server.problem == "it starts"
    await shadow.until("shadow: it listens at 0.0.0.0:9877")
    assert (shadow.problem, shadow.address) == ("", "0.0.0.0:9877")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


async def test_one_that_ends_says_why_and_is_started_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shadow_server, "AGAIN_SECONDS", (0.0, 0.0))
    shadow = Shadow("import sys; print('the port is taken'); sys.exit(255)")
    await shadow.until("shadow: it ended with status 255", times=2)
    assert shadow.lines[:2] == ["shadow: the port is taken", "shadow: it ended with status 255"]
    assert shadow.problem == "it ended with status 255: the port is taken"


async def test_a_program_that_can_not_be_started_is_a_problem():
    shadow = Shadow("")
    shadow.server = ShadowServer("shadow", ["/nonexistent"], shadow._line)
    await shadow.until("shadow: it does not start: No such file or directory")
    assert shadow.problem == "it does not start: No such file or directory"


async def test_one_that_ignores_the_end_is_killed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shadow_server, "STOP_SECONDS", 0.1)
    ignores = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    await Shadow(f"{ignores}{SERVES}").until("shadow: it listens at 0.0.0.0:9877")


async def test_a_line_without_end_is_passed_over():
    shadow = Shadow(f"print('x' * 100_000); {SERVES}")
    await shadow.until("shadow: it listens at 0.0.0.0:9877")
    assert not any(len(line) > shadow_server.LINE_BYTES + 20 for line in shadow.lines)
