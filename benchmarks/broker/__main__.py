"""Measure the broker's side and print a table, with the machine and the workload."""

import argparse
import contextlib
import os
import platform
import resource
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.broker.encoding import encoding_rows
from benchmarks.broker.fleet import fleet_rows

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Take all rows."""
    options = _parsed(arguments)
    if options.quick:
        options.topics, options.rounds, options.brokers, options.broker_topics = 5_000, 3, 30, 1_000
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # a connection for each broker
    table = Table("what", "measured", "promised")
    # The fleet first: what the encoder leaves free would hide what the fleet takes.
    for row in (
        *fleet_rows(options.brokers, options.broker_topics),
        *encoding_rows(options.topics, options.rounds),
    ):
        table.add_row(*row)
    console = Console(width=120)
    console.print(table)
    console.print(
        f"fleet: {options.brokers} brokers with {options.broker_topics:,} topics each, "
        "one name server of ours in a process of its own, same machine, loopback"
    )
    console.print(
        f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, "
        f"{platform.system()}, load {os.getloadavg()[0]:.1f}"
    )
    if options.quick:
        console.print("a smoke run: sizes and times are cut down, so its figures judge nothing")
    return 0


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.broker", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of a few seconds")
    parser.add_argument("--topics", type=int, default=75_000, help="of the large registration (%(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="of writing and reading it (%(default)s)")
    parser.add_argument("--brokers", type=int, default=300, help="of the fleet (%(default)s)")
    parser.add_argument("--broker-topics", type=int, default=10_000, help="of each of them (%(default)s)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
