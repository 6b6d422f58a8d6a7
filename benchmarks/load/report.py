"""The result: a table for people (terminal and Markdown) and everything behind it (JSON)."""

import json
import math
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.load.bench import Bench
from benchmarks.load.rows import QUICK, ROWS, Bound, Row
from benchmarks.load.servers import JAVA_JVM, JAVA_VERSION

__all__ = ["show", "write"]

MISSING = "-"
WIDTH = 160
"""Of the table where there is no terminal to ask."""


def show(bench: Bench) -> None:
    """Print the table."""
    table = Table(show_lines=True)
    header, *lines = _lines(bench)
    for column in header:
        table.add_column(column)
    for line in lines:
        table.add_row(*line)
    Console(width=max(WIDTH, Console().width)).print(table)
    for note in bench.notes:
        print(note)


def write(bench: Bench, folder: Path, arguments: Sequence[str]) -> None:
    """Write latest.json and latest.md."""
    folder.mkdir(parents=True, exist_ok=True)
    facts = _facts(bench, arguments)
    rows = {
        row.samples: {
            "counted": bench.counted(row.samples),
            "medians": {
                name: _plain(bench.medians(row.samples, name)) for name in bench.samples[row.samples]
            },
            "samples": {
                name: [_plain(s) for s in taken] for name, taken in bench.samples[row.samples].items()
            },
        }
        for row in _taken(bench)
    }
    document = {**facts, "rows": rows, "notes": bench.notes}
    (folder / "latest.json").write_text(json.dumps(document, indent=1) + "\n")
    (folder / "latest.md").write_text(_markdown(bench, facts))


def _taken(bench: Bench) -> list[Row]:
    return [row for row in ROWS if row.key in bench.wanted and row.samples in bench.samples]


def _lines(bench: Bench) -> list[list[str]]:
    """The header, then a line for each row; a cell may have several lines."""
    return [["", *bench.names, "required", "aim"], *(_line(bench, row) for row in _taken(bench))]


def _line(bench: Bench, row: Row) -> list[str]:
    return [
        row.title.format(**asdict(bench.scale)),
        *(_cell(row, bench.medians(row.samples, name)) for name in bench.names),
        _verdicts(bench, row, row.required),
        _verdicts(bench, row, row.aim),
    ]


def _cell(row: Row, medians: dict[str, float] | None) -> str:
    if medians is None:
        return MISSING
    failed = f"\n{medians['failures']:.0f} failures" if medians.get("failures") else ""
    return row.cell.format(**medians).replace("inf s", "never") + failed


def _verdicts(bench: Bench, row: Row, bounds: Sequence[Bound]) -> str:
    return "\n".join(_verdict(bench, row, bound) for bound in bounds) or MISSING


def _verdict(bench: Bench, row: Row, bound: Bound) -> str:
    """Name the bound, what was measured in its terms, and whether that meets it."""
    if bound.of or bound.row:
        figure = bench.ratio(row.samples, bound.metric, bound.server, of=bound.of or "", row=bound.row or "")
    else:
        figure = (bench.medians(row.samples, bound.server) or {}).get(bound.metric)
    if figure is None:
        return str(bound)
    return f"{bound}: {figure:.3g} {'met' if bound.met(figure) else 'NOT MET'}"


def _facts(bench: Bench, arguments: Sequence[str]) -> dict[str, Any]:
    return {
        "taken": time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime()),
        "command": " ".join(["python -m benchmarks.load", *arguments]),
        "smoke": bench.scale == QUICK,
        "scale": asdict(bench.scale),
        "machine": {
            "cpu": _cpu_model(),
            "cores": os.cpu_count(),
            "memory_mib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
            "kernel": platform.release(),
        },
        "versions": {
            "namekeeper": f"{version('namekeeper')} at {_output_of('git', 'rev-parse', '--short', 'HEAD')}",
            "python": platform.python_version(),
            "uvloop": version("uvloop"),
            "msgspec": version("msgspec"),
            "rocketmq": JAVA_VERSION,
            "java": _output_of("java", "-version"),
            "cc": _output_of("cc", "--version"),
        },
        "servers": {
            "namekeeper": "python -m namekeeper serve --front python, at 127.0.0.1 and on free ports",
            "native": "the same with --front native",
            "no-journal": "the first with --journal-enable false",
            "java": f"java {' '.join(JAVA_JVM)} org.apache.rocketmq.namesrv.NamesrvStartup -c PROPERTIES",
            "bare-uvloop": "python benchmarks/load/bare_uvloop.py PORT ROUTES",
            "bare-c": "build/bench/bare_responder PORT ROUTES",
            "bare-compiled": "python benchmarks/load/bare_native.py compiled PORT ROUTES",
            "bare-front": "python benchmarks/load/bare_native.py front PORT ROUTES",
        },
    }


def _markdown(bench: Bench, facts: dict[str, Any]) -> str:
    header, *lines = _lines(bench)
    parts = ["# Latest figures", ""]
    parts += [_row(header), _row(["---"] * len(header)), *map(_row, lines), ""]
    taken = f"Taken {facts['taken']} by `{facts['command']}`; {bench.scale.rounds} rounds"
    parts += [f"{taken}; other processes had {_foreign(bench):.0%} of the machine meanwhile.", ""]
    parts += [f"* {note}" for note in bench.notes]
    for name in ("machine", "versions", "servers"):
        parts += [f"* {name}: " + ", ".join(f"{key} {value}" for key, value in facts[name].items())]
    return "\n".join(parts) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("\n", "<br>")


def _foreign(bench: Bench) -> float:
    """The median over all samples of what other processes used."""
    samples = [sample for of in bench.samples.values() for taken in of.values() for sample in taken]
    return statistics.median([s["foreign"] for s in samples if "foreign" in s] or [0.0])


def _plain(sample: Any) -> dict[str, float | None]:
    """Replace what JSON can't say: an answer that never came has no time."""
    return {key: value if math.isfinite(value) else None for key, value in sample.items()}


def _output_of(*command: str) -> str:
    """Return the first line that a program says."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except OSError:
        return MISSING
    return (done.stdout or done.stderr).strip().partition("\n")[0] or MISSING


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
