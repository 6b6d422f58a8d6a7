"""What is measured and what it must be (docs/decisions/0018), as data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["FULL", "QUICK", "ROWS", "Bound", "Row", "Scale"]

LABELS = {
    "per_second": "rate", "p99_ms": "p99", "p999_ms": "p99.9", "cpu_us": "CPU", "cpu_ms": "CPU",
    "rss_mib": "memory", "answered_ms": "time", "all_s": "time", "dropped": "dropped records",
    "pause_ms": "pause", "cost": "CPU as without rules", "kept": "rate as without changes",
    "ready_ms": "time", "stopped_ms": "time after SIGTERM", "failures": "failures",
}  # fmt: skip


PYTHON, NATIVE = "namekeeper", "native"
"""Our server without and with the native front."""
FRONTS = (PYTHON, NATIVE)


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured; everything a run does is bounded by these."""

    rounds: int = 9
    storm_rounds: int = 3  # at most: a storm takes long
    seconds: float = 0.7  # of look-ups in one sample
    warmup: float = 0.2  # of look-ups before each sample
    warmup_requests: int = 100_000  # after the start of a server: Java compiles meanwhile
    topics: int = 20_000
    watchers: int = 1_000
    json_topics: int = 60_000
    large_topics: int = 100_000
    large_brokers: int = 16
    heartbeat_topics: int = 10_000
    heartbeats: int = 20
    storm_brokers: int = 300
    storm_topics: int = 10_000
    storm_distinct: int = 20_000
    storm_seconds: float = 120.0  # then those still unanswered count as failures


FULL = Scale()
QUICK = Scale(
    rounds=1, seconds=0.5, warmup=0.1, warmup_requests=10_000, json_topics=6_000, large_topics=20_000,
    large_brokers=4, heartbeats=5, watchers=100, storm_brokers=20, storm_topics=2_000, storm_distinct=4_000,
    storm_seconds=20,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit for one metric of a server: a factor of another server's or of another row's, or a number."""

    metric: str
    factor: float
    of: str | None = None
    at_least: bool = False
    row: str | None = None
    server: str = PYTHON

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        other = self.of or self.row
        whose = "" if self.server == PYTHON else f"{self.server}: "
        return f"{whose}{LABELS[self.metric]} {sign} {self.factor:.3g}" + (f" x {other}" if other else "")

    def met(self, figure: float) -> bool:
        """Say whether a figure, or the ratio of two, is within the bound."""
        return figure >= self.factor if self.at_least else figure <= self.factor


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    key: str
    title: str  # with the fields of Scale
    cell: str  # with the metrics of a sample
    required: tuple[Bound, ...]
    aim: tuple[Bound, ...] = ()
    source: str = ""  # the row whose samples it shows, if not its own

    @property
    def samples(self) -> str:
        """The key under which its samples are recorded."""
        return self.source or self.key


def _rate(factor: float, of: str, server: str = PYTHON) -> Bound:
    return Bound("per_second", factor, of, at_least=True, server=server)


def _both(metric: str, factor: float, of: str | None = None, **more: Any) -> tuple[Bound, ...]:
    """The same bound for both fronts."""
    return tuple(Bound(metric, factor, of, **more, server=server) for server in FRONTS)


def _look_ups(key: str, how: str, of_java: float, aim: float, native_of_java: float, *more: Bound) -> Row:
    return Row(
        key,
        f"look-ups/s, {how}",
        "{per_second:,.0f}\np99 {p99_ms:.2f} ms\np99.9 {p999_ms:.2f} ms",
        (
            _rate(0.8, "bare-uvloop"),
            _rate(0.95, "no-journal"),
            _rate(of_java, "java"),
            *more,
            _rate(0.8, "bare-c", NATIVE),
            _rate(native_of_java, "java", NATIVE),
            Bound("p99_ms", 1 / 3, "java", server=NATIVE),
            Bound("cpu_us", 1.3, "bare-c", server=NATIVE),
            *_both("failures", 0),
        ),
        (_rate(aim, "java"),),
    )


def _misses(key: str, what: str, servers: Sequence[str] = FRONTS) -> Row:
    return Row(
        key,
        f"look-ups/s, 16 connections, {what}",
        "{per_second:,.0f}, CPU {cpu_us:.1f} us\np99 {p99_ms:.2f} ms\np99.9 {p999_ms:.2f} ms",
        (
            *(_rate(1, "java", server) for server in servers),
            *(Bound("failures", 0, server=server) for server in servers),
        ),
    )


def _changes(whose: str, what: str) -> Iterator[Row]:
    for rate, kept in ((1, 0.95), (10, 0.9), (100, 0.7)):
        yield Row(
            f"changes-{whose}-{rate}",
            f"look-ups/s, 16 connections, {rate} changes a second of {what}",
            "{per_second:,.0f}, {kept:.2f} x without changes\np99 {p99_ms:.2f} ms\np99.9 {p999_ms:.2f} ms",
            (*_both("kept", kept, at_least=True), *_both("failures", 0)),
        )


def _registration(key: str, what: str, of_java: float, pause_ms: float, aim: tuple[Bound, ...] = ()) -> Row:
    return Row(
        key,
        f"registration of {what}; longest look-up",
        "{answered_ms:.0f} ms, CPU {cpu_ms:.0f}\nlook-up {pause_ms:.1f} ms",
        (
            *_both("answered_ms", of_java, "java"),
            *_both("pause_ms", pause_ms),
            *_both("failures", 0),
        ),
        aim,
    )


def _watchers(key: str, what: str, kept: float, beside: str) -> Row:
    return Row(
        key,
        f"look-ups/s, 16 connections, {{watchers:,}} watch {what}",
        "{per_second:,.0f}, CPU {cpu_us:.1f} us\np99 {p99_ms:.2f} ms\np99.9 {p999_ms:.2f} ms",
        (
            *_both("per_second", kept, at_least=True, row=beside),
            Bound("cpu_us", 2 - kept, row=beside),
            *_both("failures", 0),
        ),
    )


def _storm(key: str, what: str) -> Row:
    return Row(
        key,
        "{storm_brokers} brokers x {storm_topics:,} topics at once, "
        + what
        + ": all answered, look-ups' p99.9",
        "{all_s:.2f} s, CPU {cpu_s:.1f}\np99.9 {p999_ms:.0f} ms\npeak {peak_mib:.0f} MiB",
        (
            *_both("all_s", 1, "java"),
            Bound("p999_ms", 100),
            Bound("p999_ms", 10, server=NATIVE),
            *_both("failures", 0),
            *_both("dropped", 0),
        ),
        (Bound("all_s", 6),),
    )


def _rows() -> Iterator[Row]:
    yield _look_ups("lookups-16", "16 connections closed loop", 2, 3, 3, Bound("p99_ms", 1 / 3, "java"))
    yield _look_ups("lookups-1x16", "1 connection x 16 in flight", 2, 2.5, 2.5)
    yield _look_ups("lookups-200", "200 connections", 2, 2.5, 2.5)
    yield _look_ups("lookups-1024", "1,024 connections", 1.5, 2, 2)
    yield _misses("lookups-other", "each with a header of its own")
    yield _misses("lookups-binary", "binary headers")
    yield _misses("lookups-unknown", "topics without route")
    yield _misses("lookups-uncached", "without any cache", (PYTHON,))
    yield _misses("lookups-first", "{topics:,} topics after all of them changed, each once")
    yield _misses("lookups-new", "{topics:,} topics that nobody has asked for, each once")
    yield from _changes("small", "topics that nobody looks up")
    yield from _changes("base", "topics that are looked up")
    yield _watchers("watchers", "20 topics each, 10 changes a second", 0.95, "changes-base-10")
    yield _watchers("watchers-one-topic", "one topic, which changes each second", 0.95, "changes-base-1")
    for key, what, cost in (
        ("rules-network", "access rules by network", 1.05),
        ("rules-signed", "signed, access rules by user", 1.2),
    ):
        yield Row(
            key, f"look-ups/s, 16 connections, {what}",
            "{per_second:,.0f}, CPU {cpu_us:.1f} us\nCPU {cost:.3f} x without rules",
            (Bound("cost", cost), Bound("failures", 0)),
        )  # fmt: skip
    yield Row(
        "cpu", "server CPU, us a look-up, 16 connections", "{cpu_us:.1f} us",
        (Bound("cpu_us", 1.25, "bare-uvloop"), Bound("cpu_us", 0.5, "java")),
        (Bound("cpu_us", 1 / 3, "java"),),
        source="lookups-16",
    )  # fmt: skip
    yield Row(
        "memory", "resident memory, {topics:,} topics x 4 brokers", "{rss_mib:.0f} MiB\npeak {peak_mib:.0f}",
        _both("rss_mib", 120), (Bound("rss_mib", 115),),
    )  # fmt: skip
    yield Row(
        "memory-large", "resident memory, {large_topics:,} topics x {large_brokers} brokers",
        "{rss_mib:.0f} MiB\npeak {peak_mib:.0f}", _both("rss_mib", 600),
    )  # fmt: skip
    yield _registration("registration-json", "{json_topics:,} topics, JSON", 1, 10)
    yield _registration(
        "registration", "{large_topics:,} topics, compressed", 2, 50, (Bound("answered_ms", 1, "java"),)
    )
    for form, name in (("JSON", "heartbeat-json"), ("compressed", "heartbeat-compressed")):
        yield Row(
            name, "unchanged registration of {heartbeat_topics:,} topics, " + form + ", CPU each",
            "{cpu_ms:.2f} ms", (Bound("cpu_ms", 1.5),), (Bound("cpu_ms", 0.8),),
        )  # fmt: skip
    yield _storm("storm-shared", "{storm_distinct:,} distinct")
    yield _storm("storm-distinct", "all distinct")
    yield Row(
        "checkpoint", "the journal's checkpoint of a storm that it had dropped: on the disk; look-ups' p99.9",
        "{written_s:.2f} s\np99.9 {p999_ms:.0f} ms\npeak {peak_mib:.0f} MiB",
        (Bound("p999_ms", 250), Bound("failures", 0)),
    )  # fmt: skip
    yield Row(
        "ready", "ready to serve: process start to first answer", "{ready_ms:.0f} ms\nCPU {cpu_ms:.0f} ms",
        (Bound("ready_ms", 250),), (Bound("ready_ms", 150),),
    )  # fmt: skip
    for key, size, limit_ms in (
        ("ready-again-empty", "no broker, no topic", 250),
        ("ready-again-small", "10 topics x 2 brokers", 250),
        ("ready-again", "{topics:,} topics x 4 brokers", 500),
        ("ready-again-large", "{large_topics:,} topics x {large_brokers} brokers", 3_000),
    ):
        yield Row(
            key, f"ready again with the routes restored, after kill -9, and after SIGTERM: {size}",
            "{ready_ms:.0f} ms, {stopped_ms:.0f} ms\nCPU {cpu_ms:.0f} ms",
            (Bound("ready_ms", limit_ms), Bound("stopped_ms", limit_ms)),
        )  # fmt: skip


ROWS = tuple(_rows())
