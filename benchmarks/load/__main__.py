"""Run the bench and say what was met."""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from benchmarks.load import access_rules, again, checkpoint, footprint, report, steady, storm
from benchmarks.load.bench import Bench
from benchmarks.load.errors import BenchError
from benchmarks.load.rows import FULL, QUICK, ROWS
from benchmarks.load.servers import NAMES, compile_ours, why_not

__all__ = ["main"]

RESULTS = Path(__file__).parents[1] / "results"
SCENARIOS = (steady, access_rules, footprint, again, storm, checkpoint)


def main(arguments: Sequence[str]) -> int:
    """Take the rows that were asked for, from the servers that can run here."""
    options = _parsed(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the servers are stopped then, too
    scale = QUICK if options.quick else FULL
    if options.rounds:
        scale = replace(scale, rounds=options.rounds)
    absent = {name: reason for name in options.servers if (reason := why_not(name))}
    names = [name for name in options.servers if name not in absent]
    compile_ours()
    with Bench.prepared(scale, names, frozenset(options.only)) as bench:
        if options.quick:
            bench.notes.append("a smoke run: sizes and times are cut down, so its figures judge nothing")
        bench.notes += [f"{name} is left out: {reason}" for name, reason in absent.items()]
        try:
            whole = sum(_run(scenario, bench) for scenario in SCENARIOS) == len(SCENARIOS)
        except KeyboardInterrupt:
            bench.notes.append("interrupted: not every row was taken")
            whole = False
        report.show(bench)
        report.write(bench, options.results, arguments)
    return 0 if whole else 1


def _run(scenario: ModuleType, bench: Bench) -> bool:
    """Take the rows of one scenario; what fails there is a note, and the others are still taken."""
    try:
        scenario.run(bench)
    except (BenchError, OSError) as error:
        bench.notes.append(f"{scenario.__name__} ended early: {error}")
        return False
    return True


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    keys = [row.key for row in ROWS]
    parser.add_argument("--quick", action="store_true", help="a smoke run of about a minute")
    parser.add_argument("--rounds", type=int, help=f"turns of each server (default {FULL.rounds})")
    parser.add_argument(
        "--only", type=_among(keys), default=keys, metavar="ROW,...", help="some of: " + ", ".join(keys)
    )
    parser.add_argument(
        "--servers", type=_among(NAMES), default=list(NAMES), metavar="NAME,...", help=", ".join(NAMES)
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for latest.json and latest.md")
    return parser.parse_args(arguments)


def _among(known: Sequence[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)} not among {', '.join(known)}")
        return chosen

    return parse


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
