"""How much a journal writes in a day: `python -m benchmarks.journal_volume`.

An hour of a quiet cluster goes through the real recorder and writer on a clock of its own, in both ways in
which brokers keep themselves alive: a registration each 30 s, or that and a heartbeat each second (brokers
with enableSlaveActingMaster). A day is 24 such hours and four checkpoints; sizes on disk are those of sealed
segments.
"""

import argparse
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from namekeeper.journal.contract.record import ServerStarted
from namekeeper.journal.disk.writer import Writer
from namekeeper.journal.queue.backlog import Backlog
from namekeeper.journal.recording.recorder import Recorder
from namekeeper.journal.recording.snapshot import take_snapshot
from namekeeper.journal.recording.source import Source
from namekeeper.journal.settings import Limits, WriterSettings
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.lookup_cache.counters import LookupCounters
from namekeeper.model.broker import BrokerData
from namekeeper.model.now import Now
from namekeeper.model.topic import QueueSpec
from namekeeper.model.version import DataVersion
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerHeard,
    BrokerLiveChanged,
    Cause,
    Change,
    ClusterChanged,
    Event,
    TopicQueuesChanged,
    TopicRow,
)
from namekeeper.route.rows import make_row
from namekeeper.route.tables import RouteTables

REGISTER_S, HEARTBEAT_S = 30, 1
CHECKPOINTS_A_DAY = 4
CLUSTER = "DefaultCluster"
ROW = make_row(QueueSpec(8, 8, 6, 0), QueueSpec(8, 8, 6, 0))
DEFAULT_LIMIT = Limits().max_bytes


class Clock:
    """Time that passes when the benchmark says so."""

    def __init__(self) -> None:
        # Ten seconds before a full minute: both registrations of a minute fall into it, as most do in life.
        self.current = Now(1_700_000_030_000, 0)

    def now(self) -> Now:
        return self.current

    def advance(self, ms: int) -> None:
        self.current = Now(self.current.wall_ms + ms, self.current.mono_ms + ms)


class Cluster:
    """Brokers with their topics, and the journal of a name server that they are registered at."""

    def __init__(self, settings: WriterSettings, brokers: int, topics: int, *, heartbeats: bool) -> None:
        self.clock = Clock()
        self.tables = RouteTables()
        self.lookups = LookupCounters(by_topic=True)
        backlog = Backlog(1 << 40)
        self.recorder = Recorder(
            Source(
                lambda: take_snapshot(self.tables, KvConfigStore(), now=self.clock.now()),
                lambda: brokers * 20,
                self.lookups.take,
            ),
            backlog,
            clock=self.clock,
            started=lambda: ServerStarted(uuid="", server_version="0"),
            checkpoint_ms=1 << 60,
        )
        self.writer = Writer(settings, backlog, system=os)
        self._folder = Path(settings.folder)
        self._names = [f"broker-{number}" for number in range(brokers)]
        self._topics = [f"TopicOfSomeTeam-{number}" for number in range(topics)]
        self._tables: dict[str, dict[str, TopicRow]] = {}
        self._versions = dict.fromkeys(self._names, 0)
        self._signs = [*[True] * (60 // REGISTER_S), *[False] * (60 // HEARTBEAT_S if heartbeats else 0)]
        self._chance = random.Random(1)
        self._measured = 0

    def start(self) -> None:
        """The boot, and every broker's registration."""
        self.recorder.begin()
        names = frozenset(self._names)
        for gen, name in enumerate(self._names, 1):
            group = BrokerData(CLUSTER, name, {0: f"10.0.{gen // 250}.{gen % 250}:10911"})
            table = dict.fromkeys(self._topics, ROW)
            self._tables[name] = table
            self._happened(
                Cause.REGISTER, ClusterChanged(CLUSTER, names), BrokerGroupChanged(group),
                self._live(name, is_new=True), TopicQueuesChanged(name, {}, table, tuple(table)),
            )  # fmt: skip

    def checkpoint(self) -> None:
        """One checkpoint of everything."""
        self.recorder.need_checkpoint("retention")
        while self.recorder.tick(lost_records=0, is_writable=True) < 1:
            self.writer.step(self.clock.now())

    def minute(self, *, new_topics: int, unknown: int) -> None:
        """A minute of signs of life, of a few new topics and of clients that ask."""
        for is_registration in self._signs:
            self.clock.advance(60_000 // len(self._signs))
            self.recorder.tick(lost_records=0, is_writable=True)  # in life each second
            for gen in range(1, len(self._names) + 1):
                gap = (
                    self._chance.randint(900, 1_200)
                    if len(self._signs) > 2
                    else self._chance.randint(29_000, 31_000)
                )
                size = 250 * len(self._topics) if is_registration else 0
                heard = BrokerHeard(CLUSTER, self._addr(gen), gen, gap, is_registration, size)
                self.recorder.record(Change(Cause.HEARTBEAT, None, (heard,)))
        for number in range(new_topics):
            for name in self._names:
                before = self._tables[name]
                topic = f"NewTopic-{self.clock.now().mono_ms}-{number}"
                self._tables[name] = after = {**before, topic: ROW}
                self._versions[name] += 1
                self._happened(
                    Cause.REGISTER, self._live(name), TopicQueuesChanged(name, before, after, (topic,))
                )
        for number in range(unknown):
            self.recorder.unknown_topic(f"NobodyHasThis-{number}", "JAVA", 453)
        for topic in self._topics:
            self.lookups.of(topic).count += self._chance.randint(1, 50)
        while self.recorder.tick(lost_records=0, is_writable=True) < 1:
            self.writer.step(self.clock.now())
        self.writer.step(self.clock.now())

    def bytes_since(self) -> tuple[int, int]:
        """Bytes of lines and of sealed segments since this was asked last."""
        self.clock.advance(300_000)
        for _ in range(1_000):  # the open segment is old now; everything gets sealed
            self.writer.step(self.clock.now())
        packed = sum(file.stat().st_size for file in self._folder.glob("*.gz"))
        written = self.writer.written_bytes
        result = written - self._measured, packed
        self._measured = written
        return result

    def _happened(self, cause: Cause, *events: Event) -> None:
        change = Change(cause, "10.0.0.1:50000", events)
        self.tables.apply_all(change.events)
        self.recorder.record(change)
        self.writer.step(self.clock.now())

    def _addr(self, gen: int) -> str:
        return f"10.0.{gen // 250}.{gen % 250}:10911"

    def _live(self, name: str, *, is_new: bool = False) -> BrokerLiveChanged:
        gen = self._names.index(name) + 1
        version = DataVersion(self._versions[name], 0, 1_700_000_000_000)
        addr = self._addr(gen)
        return BrokerLiveChanged(
            CLUSTER, addr, name, 0, addr.replace("10911", "10912"), 120_000, version, gen,
            f"{addr[:-5]}50000", gen, is_new, 0, 250 * len(self._topics),
        )  # fmt: skip


def measure(brokers: int, *, heartbeats: bool, options: argparse.Namespace) -> tuple[float, float, float]:
    """Bytes a day: lines, sealed segments; and those of one checkpoint, sealed."""
    with tempfile.TemporaryDirectory() as temporary:
        settings = WriterSettings(folder=str(Path(temporary) / "journal"), namesrv="namesrv-1_9876")
        cluster = Cluster(settings, brokers, options.topics, heartbeats=heartbeats)
        cluster.start()
        _, after_start = cluster.bytes_since()
        cluster.checkpoint()
        checkpoint_lines, after_checkpoint = cluster.bytes_since()
        for minute in range(options.minutes):
            cluster.minute(new_topics=int(minute % 20 == 0), unknown=options.unknown)
        lines, after = cluster.bytes_since()
        cluster.writer.close(cluster.clock.now())
    factor = 24 * 60 / options.minutes
    checkpoint = after_checkpoint - after_start
    return (
        factor * lines + CHECKPOINTS_A_DAY * checkpoint_lines,
        factor * (after - after_checkpoint) + CHECKPOINTS_A_DAY * checkpoint,
        checkpoint,
    )


def rows(options: argparse.Namespace) -> Iterator[str]:
    """The table, line by line."""
    yield "| brokers | alive by | lines, MB a day | on disk, MB a day | a checkpoint, MB | 4 GiB last |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for brokers in options.brokers:
        for heartbeats in (False, True):
            lines, packed, checkpoint = measure(brokers, heartbeats=heartbeats, options=options)
            mode = "103 each 30 s and 904 each second" if heartbeats else "103 each 30 s"
            days = DEFAULT_LIMIT / packed
            yield (
                f"| {brokers} | {mode} | {lines / 1e6:.1f} | {packed / 1e6:.1f} | {checkpoint / 1e6:.2f} |"
                f" {f'{days:.0f} days' if days < 1_000 else 'years'} |"
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.journal_volume", description=__doc__)
    parser.add_argument("--brokers", type=int, nargs="+", default=[10, 100, 300], help="broker names")
    parser.add_argument(
        "--topics", type=int, default=1_000, help="topics on each broker, all looked up each hour"
    )
    parser.add_argument("--unknown", type=int, default=20, help="topics a minute that nobody has")
    parser.add_argument("--minutes", type=int, default=60, help="how long the simulated part is")
    options = parser.parse_args()
    for row in rows(options):
        print(row, flush=True)


if __name__ == "__main__":
    main()
