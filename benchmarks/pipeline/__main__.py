"""Measure the pipeline and print a table, with the machine and the workload: `make bench-pipeline`."""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple, ParamSpec, TypeVar
from unittest import mock

import duckdb
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from benchmarks.pipeline.journals import ClusterSize, Part, Written, days, kept_parts, write_parts
from benchmarks.pipeline.small_run import Figures, figures_of_process
from namekeeper.pipeline.contract import read_schema
from namekeeper.pipeline.gold import build as gold
from namekeeper.pipeline.ingest import batch as ingest
from namekeeper.pipeline.local_session import local_session
from namekeeper.pipeline.run import Request, run_once

GOLD_DAYS = 7
BASES = (7, 30, 90)
SMALL_BASES = (7,)
SMALL = ClusterSize(brokers=10, topics=200)
"""Whose journal grows by a day."""
QUIET_DAY = Part(24 * 60, new_topics=0)
TEN_MINUTES = Part(10, starts_at=5)
"""Signs of life and lookups: no checkpoint, no change."""
SMALL_RUNS = (
    ("one more day", Part(24 * 60), 60, 12),
    ("one more day without new topics", QUIET_DAY, 60, 12),
    ("ten minutes without a change", TEN_MINUTES, 35, 4),
)
"""What is new, and the CPU seconds that are promised for a cold and for a warm run."""
IDLE_SEGMENTS = 30_000
MANY_RUNS = 5


P = ParamSpec("P")
T = TypeVar("T")


class Row(NamedTuple):
    """One figure."""

    what: str
    value: str
    promised: str = ""


class Steps:
    """Seconds of the two steps of runs, taken around the functions that do them."""

    def __init__(self) -> None:
        self.ingest = self.gold = 0.0

    @contextmanager
    def watched(self) -> Iterator["Steps"]:
        """Watch the runs that are made inside."""
        original = ingest.ingest, gold.build_gold
        ingest.ingest = self._timed("ingest", original[0])
        gold.build_gold = self._timed("gold", original[1])
        try:
            yield self
        finally:
            ingest.ingest, gold.build_gold = original

    def _timed(self, name: str, function: Callable[P, T]) -> Callable[P, T]:
        def instead(*arguments: P.args, **named: P.kwargs) -> T:
            begun = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                setattr(self, name, getattr(self, name) + time.perf_counter() - begun)

        return instead


class Bench:
    """One session, and a folder for what is measured with it."""

    def __init__(self, spark: SparkSession, folder: Path, console: Console, journals: Path | None) -> None:
        self.spark = spark
        self.folder = folder
        self.console = console
        self.journals = journals

    def load(self, *journals: Path, warehouse: Path | None = None) -> Steps:
        """A run of the pipeline, into a new warehouse unless one is given."""
        place = warehouse or self.fresh()
        request = Request([str(journal) for journal in journals], str(place))
        with Steps().watched() as steps:
            run_once(request, lambda: self.spark, lambda *_: None)
        return steps

    def events_alone(self, journal: Path) -> float:
        """Seconds for the table `events` and no other."""
        with mock.patch.object(ingest, "KINDS_OF", {}), mock.patch.object(gold, "build_gold"):
            return self.load(journal).ingest

    def bare(self, journal: Path) -> float:
        """Seconds that Spark takes to parse the lines by the same schema and to write them."""
        begun = time.perf_counter()
        rows = self.spark.read.schema(read_schema()).json(str(journal))
        rows.write.parquet(str(self.fresh()))
        return time.perf_counter() - begun

    def fresh(self) -> Path:
        """A place that nothing is at."""
        return Path(tempfile.mkdtemp(dir=self.folder)) / "new"

    def peak_mib(self) -> int:
        """Memory that Java has had at most."""
        assert self.spark._jvm is not None  # noqa: SLF001
        pid = self.spark._jvm.java.lang.ProcessHandle.current().pid()  # noqa: SLF001 - nothing else tells it
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) // 1024
        return 0


def duckdb_seconds(journal: Path, into: Path) -> float:
    """Seconds that DuckDB takes to parse the lines by the same schema and to write them."""
    columns = ", ".join(f"'{name}': '{_of_duckdb(kind)}'" for name, kind in _named_types(read_schema()))
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        begun = time.perf_counter()
        connection.execute(
            f"COPY (SELECT * FROM read_json('{journal}/*.gz', format = 'newline_delimited',"
            f" columns = {{{columns}}})) TO '{into}' (FORMAT parquet, COMPRESSION zstd)"
        )
        return time.perf_counter() - begun


def _named_types(ddl: str) -> list[tuple[str, str]]:
    """Columns of a DDL, with their types."""
    return [(name, kind) for name, kind in re.findall(r"`(\w+)` (.+?)(?=, `|$)", ddl)]


def _of_duckdb(kind: str) -> str:
    """A type of Spark's as DuckDB writes it."""
    if inner := re.fullmatch(r"array<(.*)>", kind):
        return f"{_of_duckdb(inner[1])}[]"
    if pair := re.fullmatch(r"map<(\w+),(\w+)>", kind):
        return f"MAP({_of_duckdb(pair[1])}, {_of_duckdb(pair[2])})"
    return {"string": "VARCHAR", "int": "INTEGER"}.get(kind, kind)


class Turn(NamedTuple):
    """Seconds of one round over a journal."""

    bare: float
    duckdb: float
    events: float
    facts: float
    gold: float


def measure_size(bench: Bench, millions: float, rounds: int) -> Iterator[Row]:
    """Ingest and gold of so many records, over some days, beside the yardsticks; medians of rounds."""
    brokers = max(1, round(millions * 1_000_000 / GOLD_DAYS / (24 * 60) - 25))
    size = ClusterSize(brokers, topics=1_000)
    journal = written(bench, size, days(GOLD_DAYS))
    turns = [_turn(bench, journal.folders[0]) for _ in range(rounds)]
    middle = Turn(*map(median, zip(*turns, strict=True)))
    name = f"{journal.records:,} records, {journal.segments:,} segments, {brokers} brokers, {GOLD_DAYS} days"
    yield Row(f"{name}: bare parse-and-write, median of {rounds}", f"{middle.bare:.1f} s")
    yield Row("... DuckDB, the same", f"{middle.duckdb:.1f} s")
    yield Row("... events alone", _ratio(turns, "events", "bare"), "1.3 x")
    yield Row("... all facts", _ratio(turns, "facts", "bare"), "2.5 x")
    yield Row("... gold", _ratio(turns, "gold", "facts"), "0.5 x")
    yield Row("... Java's memory at most", f"{bench.peak_mib():,} MiB")
    clear(bench)


def _turn(bench: Bench, journal: Path) -> Turn:
    bare = bench.bare(journal)
    events = bench.events_alone(journal)
    steps = bench.load(journal)
    into = bench.fresh()
    into.parent.mkdir(exist_ok=True)
    turn = Turn(bare, duckdb_seconds(journal, into), events, steps.ingest, steps.gold)
    bench.console.print(
        ", ".join(f"{name} {value:.1f} s" for name, value in turn._asdict().items()), style="dim"
    )
    return turn


def _ratio(turns: Sequence[Turn], what: str, beside: str) -> str:
    """Medians of the seconds, and of the ratios of each round."""
    taken = [getattr(turn, what) for turn in turns]
    ratios = [mine / getattr(turn, beside) for mine, turn in zip(taken, turns, strict=True)]
    return f"{median(taken):.1f} s = {median(ratios):.2f} x {beside} ({min(ratios):.2f} to {max(ratios):.2f})"


def measure_one_more_day(bench: Bench, bases: Sequence[int]) -> Iterator[Row]:
    """A day on top of some."""
    seconds = []
    for number in bases:
        base, day = written(bench, SMALL, days(number, 1)).folders
        warehouse = bench.fresh()
        bench.load(base, warehouse=warehouse)
        steps = bench.load(day, warehouse=warehouse)
        seconds.append(steps.ingest + steps.gold)
        yield Row(
            f"one more day ({SMALL.records_a_day:,} records) on top of {number}",
            f"{seconds[-1]:.1f} s, of which gold {steps.gold:.1f} s",
        )
        clear(bench)
    yield Row("... the longest by the shortest", f"{max(seconds) / min(seconds):.2f} x", "1.5 x")


def measure_nothing_new(bench: Bench, segments: int) -> Iterator[Row]:
    """A whole process that finds nothing new among many segments."""
    base = bench.fresh()
    shutil.copytree(written(bench, SMALL, days(1)).folders[0], base)
    warehouse = bench.fresh()
    bench.load(base, warehouse=warehouse)
    kept, *others = sorted(base.iterdir())
    stem = kept.name.rsplit("-", 2)[0]
    for number in range(segments - 1 - len(others)):
        # Copies of what is in, cut elsewhere: they have nothing new.
        seq = f"{number + 1:012}"
        os.link(kept, base / f"{stem}-{seq}-{seq}.jsonl.gz")
    command = [sys.executable, "-m", "namekeeper", "pipeline", "run", "--journal", str(base)]
    times = []
    for _ in range(MANY_RUNS):
        begun = time.perf_counter()
        subprocess.run([*command, "--warehouse", str(warehouse)], check=True, capture_output=True)
        times.append(time.perf_counter() - begun)
    count = len(list(base.iterdir()))
    yield Row(
        f"nothing new among {count:,} segments, process start to exit, median of {MANY_RUNS}",
        f"{sorted(times)[MANY_RUNS // 2]:.2f} s",
        "1 s",
    )
    clear(bench)


def measure_small_runs(bench: Bench, bases: Sequence[int], memory: str) -> Iterator[Row]:
    """Runs over little new data, each in a process of its own: the first run of it, and the second."""
    for number in bases:
        for what, part, cold, warm in SMALL_RUNS:
            base, new = written(bench, SMALL, (*days(number), part)).folders
            warehouse = bench.fresh()
            bench.load(base, warehouse=warehouse)
            name = f"{what} on top of {number} days"
            yield _small_row(f"{name}, cold", _small_run(bench, warehouse, new, 1, memory), cold)
            yield _small_row(f"{name}, warm", _small_run(bench, warehouse, new, 2, memory), warm)
            clear(bench)


def _small_run(bench: Bench, warehouse: Path, journal: Path, runs: int, memory: str) -> Figures:
    """The figures of the last of some runs of a process; each has a copy of the warehouse."""
    copies = [bench.fresh() for _ in range(runs)]
    for copy in copies:
        shutil.copytree(warehouse, copy)
    return figures_of_process(journal, copies, memory)


def _small_row(name: str, found: Figures, promised: int) -> Row:
    return Row(
        name,
        f"{found.java_s + found.python_s:.1f} CPU s (Java {found.java_s:.1f}, Python {found.python_s:.1f}),"
        f" {found.executions} executions, {found.running} of them with jobs; {found.jobs} jobs,"
        f" {found.tasks} tasks",
        f"{promised} CPU s",
    )


def written(bench: Bench, size: ClusterSize, parts: tuple[Part, ...]) -> Written:
    """A journal, in a folder of its own unless journals are kept."""
    minutes = sum(part.minutes for part in parts)
    bench.console.print(f"a journal of {minutes / 24 / 60:.4g} days of {size.brokers} brokers", style="dim")
    if bench.journals:
        return kept_parts(bench.journals, size, parts)
    return write_parts(bench.fresh(), size, parts)


def clear(bench: Bench) -> None:
    """Give the disk back."""
    for place in bench.folder.iterdir():
        shutil.rmtree(place)


def main(arguments: Sequence[str]) -> int:
    """Take all rows."""
    options = parsed(arguments)
    console = Console(stderr=True)
    table = Table("what", "measured", "promised")
    with tempfile.TemporaryDirectory(prefix="namekeeper-bench-") as folder:
        spark = local_session("local[2]", {"spark.driver.memory": options.memory})
        bench = Bench(spark, Path(folder), console, options.journals)
        bench.load(written(bench, SMALL, days(1)).folders[0])  # Java has compiled what it will
        clear(bench)
        for row in rows(bench, options):
            console.print(f"{row.what}: {row.value}")
            table.add_row(*row)
        version = spark.version
        spark.stop()
    cores = os.cpu_count()
    output = Console(width=150)
    output.print(f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, Spark {version}")
    output.print(f"local[2], {options.memory} of heap; DuckDB {duckdb.__version__} with 2 threads")
    output.print(table)
    return 0


def rows(bench: Bench, options: argparse.Namespace) -> Iterator[Row]:
    """Every row that is asked for."""
    for millions in options.millions:
        yield from measure_size(bench, millions, options.rounds)
    if options.bases:
        yield from measure_one_more_day(bench, options.bases)
    if options.small:
        yield from measure_small_runs(bench, options.small, options.memory)
    if options.segments:
        yield from measure_nothing_new(bench, options.segments)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipeline", description=__doc__)
    parser.add_argument("--millions", type=float, nargs="*", default=[1, 5], help="of records; 20 takes long")
    parser.add_argument("--rounds", type=int, default=5, help="for each number of records")
    parser.add_argument("--bases", type=int, nargs="*", default=list(BASES), help="days below one more day")
    parser.add_argument(
        "--small", type=int, nargs="*", default=list(SMALL_BASES), help="days below small runs"
    )
    parser.add_argument(
        "--segments", type=int, default=IDLE_SEGMENTS, help="for a run that finds nothing new"
    )
    parser.add_argument(
        "--journals", type=Path, metavar="FOLDER", help="keep the journals here, and take those that are here"
    )
    parser.add_argument("--memory", default="2g", help="heap of Spark")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
