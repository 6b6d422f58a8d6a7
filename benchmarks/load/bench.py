"""What every scenario needs: servers, scale, a place for samples, and a measure of the machine's noise."""

import contextlib
import math
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.load.generator import Generator
from benchmarks.load.payload import BASE_BROKERS, base_topic, route_body
from benchmarks.load.rows import ROWS, Scale
from benchmarks.load.servers import Server, started

__all__ = ["Bench", "Meter", "Sample"]

Sample = Mapping[str, float]
"""Metrics of one run against one server."""

ALL_COUNT = 3
"""Of more rounds than this, the quieter half counts."""

SHORT_SECONDS = 0.1
"""The kernel counts in steps of 10 ms, so a block shorter than this says nothing of others."""


@dataclass
class Bench:
    """One run of the bench."""

    scale: Scale
    names: Sequence[str]
    wanted: frozenset[str]
    generator: Generator
    scratch: Path
    samples: dict[str, dict[str, list[Sample]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @classmethod
    @contextlib.contextmanager
    def prepared(cls, scale: Scale, names: Sequence[str], wanted: frozenset[str]) -> Iterator[Self]:
        """Build the programs and write the bare responders' routes; all files go at the end."""
        with tempfile.TemporaryDirectory(prefix="namekeeper-bench-") as folder:
            bench = cls(scale, names, wanted, Generator(), Path(folder))
            with bench.routes.open("wb") as file:
                for index in range(scale.topics):
                    topic = base_topic(index)
                    file.write(topic[0].encode() + b" " + route_body(BASE_BROKERS, topic) + b"\n")
            yield bench

    @property
    def routes(self) -> Path:
        """The routes that the bare responders serve."""
        return self.scratch / "routes.txt"

    def started(
        self, name: str, *options: str, port: int | None = None
    ) -> contextlib.AbstractContextManager[Server]:
        """Run one of the servers, at a free port unless one is given; options are for one of ours."""
        return started(name, self.scratch, self.generator.responder, self.routes, *options, port=port)

    def wants(self, *keys: str) -> bool:
        """Say whether any of these rows was asked for."""
        return any(row.samples in keys and row.key in self.wanted for row in ROWS)

    def record(self, key: str, name: str, sample: Sample) -> None:
        """Keep a sample and show it."""
        self.samples.setdefault(key, {}).setdefault(name, []).append(sample)
        text = "  ".join(f"{metric} {value:,.4g}" for metric, value in sample.items())
        print(f"{key:21} {name:12} {text}", flush=True)

    def counted(self, key: str) -> list[int]:
        """Return the rounds of a row that count: of many, the half in which other processes did least.

        The choice looks only at what others did, never at the figures.
        """
        of = self.samples[key].values()
        rounds = range(min(len(taken) for taken in of))
        if len(rounds) <= ALL_COUNT:
            return list(rounds)
        noise = {turn: max(taken[turn].get("foreign", 0.0) for taken in of) for turn in rounds}
        return sorted(sorted(rounds, key=noise.__getitem__)[: (len(rounds) + 1) // 2])

    def medians(self, key: str, name: str) -> dict[str, float] | None:
        """Return the median of each metric over the rounds that count, if there are samples."""
        taken = self.samples.get(key, {}).get(name)
        if not taken:
            return None
        rounds = self.counted(key)
        return {metric: statistics.median(taken[turn][metric] for turn in rounds) for metric in taken[0]}

    def ratio(self, key: str, metric: str, name: str, *, of: str = "", row: str = "") -> float | None:
        """Return the median over the rounds that count of a figure to another one in that round.

        Args:
            key: The row.
            metric: Which figure of it.
            name: The server.
            of: The other server, if it is another one.
            row: The other row, if it is another one.
        """
        ours = self.samples.get(key, {}).get(name)
        theirs = self.samples.get(row or key, {}).get(of or name)
        if not ours or not theirs:
            return None
        pairs = [(ours[turn][metric], theirs[turn][metric]) for turn in self.counted(key)]
        return statistics.median(x / y if 0 < y < math.inf else 0.0 for x, y in pairs)


class Meter:
    """What a server, and what processes that are not the bench's, cost while a block runs."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def __enter__(self) -> Self:
        self._began = self._read()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> None:
        if kind:
            return
        elapsed, busy, self.cpu_seconds, own = (
            end - start for start, end in zip(self._began, self._read(), strict=True)
        )
        foreign = max(0.0, busy - self.cpu_seconds - own) / (elapsed * (os.cpu_count() or 1))
        self.foreign = foreign if elapsed >= SHORT_SECONDS else 0.0
        """Share of the whole machine that others had, kernel threads and stolen time included."""

    def _read(self) -> tuple[float, float, float, float]:
        """The clock, CPU seconds of the machine, of the server, of the bench and its ended generators."""
        ticks = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        idle = ticks[3] + ticks[4]
        own = sum(
            usage.ru_utime + usage.ru_stime
            for usage in (
                resource.getrusage(resource.RUSAGE_SELF),
                resource.getrusage(resource.RUSAGE_CHILDREN),
            )
        )
        return (
            time.monotonic(),
            (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK"),
            self._server.cpu_seconds(),
            own,
        )
