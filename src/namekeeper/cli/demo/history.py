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

__all__ = ["tell_history"]

TOPIC, MISSING = "orders", "refunds"
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
    stage.step(f"And {MISSING}?")
    _run(stage, ["why", MISSING, "--at", cut, *journals])
    if find_spec("pyspark") is None:
        stage.step("The rest needs Spark: `make demo` sets it up, or pip install 'namekeeper\\[pipeline]'")
        return
    warehouse = ["--warehouse", str(home / "warehouse")]
    stage.step("Spark turns the journals into history tables")
    _run(stage, ["pipeline", "run", *journals, *warehouse])
    stage.step("The tables give the same answer, for as many name servers and years as you like")
    _run(stage, ["why", TOPIC, "--at", wiped, *warehouse])
    stage.step("And a report")
    _run(stage, ["report", "all", *warehouse, "--format", "html", "-o", str(report)])
    stage.note(f"open [bold]{escape(str(report.resolve()))}[/] in a browser")


def _instant(wall_ms: int) -> str:
    return (
        datetime.fromtimestamp(wall_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def _run(stage: Stage, words: Sequence[str]) -> None:
    stage.console.print(f"   [dim]$ namekeeper {escape(' '.join(words))}[/]", soft_wrap=True)
    done = subprocess.run([sys.executable, "-m", "namekeeper", *words], check=False)  # noqa: S603 - our own program
    if done.returncode not in ANSWERS:
        raise NamekeeperError(f"it ended with {done.returncode}")
