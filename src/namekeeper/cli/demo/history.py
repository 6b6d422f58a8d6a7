"""The second half of the demo: our own commands, as a user types them, explain what happened."""

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from rich.markup import escape

from namekeeper.cli.demo.incident import Incident
from namekeeper.cli.demo.show import Stage
from namekeeper.errors import NamekeeperError
from namekeeper.pipeline.gold.tables import GOLD

__all__ = ["tell_history"]

TOPIC, MISSING = "orders", "refunds"
_LAST_LINES = 5
"""Lines of a command that are shown if it failed: the last ones say why."""
ANSWERS = (0, 3, 4)
"""How `why` ends: answered, nobody can know, and no record of the topic."""


def tell_history(stage: Stage, incident: Incident, home: Path, report: Path) -> None:
    """Ask the journals, then let Spark make tables and a report of them.

    Raises:
        NamekeeperError: a command failed.
    """
    journals = [word for server in incident.servers for word in ("--journal", str(server.journal))]
    wiped, cut = _instant(incident.times.wiped_ms), _instant(incident.times.cut_ms)
    stage.step(f"Hours later somebody asks: why could nobody send to {TOPIC} at {wiped}?")
    _run(stage, ["why", TOPIC, "--at", wiped, *journals])
    stage.step(f"What was the route at {cut}, when the name servers disagreed?")
    _run(stage, ["route-at", TOPIC, "--at", cut, *journals])
    stage.step("The observer never saw a registration, and remembers ns-2, too")
    _run(stage, ["route-at", TOPIC, "--at", cut, "--journal", str(incident.observer.folder)])
    stage.step(f"And {MISSING}?")
    _run(stage, ["why", MISSING, "--at", cut, *journals])
    if find_spec("pyspark") is None:
        stage.step("The rest needs Spark: `make demo` sets it up, or pip install 'namekeeper\\[pipeline]'")
        return
    try:
        _tell_tables(stage, journals, wiped, home, report)
    except KeyboardInterrupt:
        stage.note("stopped before the report; the story above is complete")


def _tell_tables(stage: Stage, journals: Sequence[str], wiped: str, home: Path, report: Path) -> None:
    warehouse = ["--warehouse", str(home / "warehouse")]
    stage.step("Spark turns the journals into history tables")
    stage.note(
        f"{len(GOLD)} tables and a report follow, mostly in one to three minutes."
        " Ctrl-C stops here; nothing is left behind."
    )
    _run(stage, ["pipeline", "run", *journals, *warehouse], steps="Spark starts")
    stage.step("The tables give the same answer, for as many name servers and years as you like")
    _run(stage, ["why", TOPIC, "--at", wiped, *warehouse])
    stage.step("And a report")
    _run(stage, ["report", "all", *warehouse, "--format", "html", "-o", str(report)])
    stage.note(f"open [bold]{escape(str(report.resolve()))}[/] in a browser")


def _instant(wall_ms: int) -> str:
    return (
        datetime.fromtimestamp(wall_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def _run(stage: Stage, words: Sequence[str], *, steps: str = "") -> None:
    """Run one of our commands.

    Args:
        stage: where it is shown.
        words: after `namekeeper`.
        steps: what it does first; then its lines on stderr are shown as steps, with the time.
    """
    stage.console.print(f"   [dim]$ namekeeper {escape(' '.join(words))}[/]", soft_wrap=True)
    stderr = subprocess.PIPE if steps else None
    command = [sys.executable, "-m", "namekeeper", *words]
    with subprocess.Popen(command, stderr=stderr, text=True) as running:  # noqa: S603 - our own program
        try:
            said = stage.steps(steps, running.stderr) if running.stderr else []
            status = running.wait()
        except BaseException:
            # It stops what it started, before the folder goes that it writes to.
            running.terminate()
            raise
    if status not in ANSWERS:
        raise NamekeeperError("\n".join([f"it ended with {status}", *said[-_LAST_LINES:]]))
