"""How quick the console is over a month of 20,000 topics on 4 brokers: `python -m benchmarks.console`.

Makes the journal, reads it as the console does, and asks what a move of the slider asks, at random instants.
Prints seconds of reading, memory, and milliseconds of each move; exits with 1 if one of twenty took more of
the CPU than a move may.
"""

import argparse
import random
import resource
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks.why import BEGIN, DAY_MS, MINUTE_MS, JournalFile
from namekeeper.clock import SystemClock
from namekeeper.console.histories import Histories
from namekeeper.console.views import ConsoleViews
from namekeeper.history.sources.journal import JournalSource
from namekeeper.journal.reading.reader import FoundJournal

BROKERS, TOPICS, DAYS, CHANGES_A_DAY = 4, 20_000, 30, 100
CHECKPOINT_MINUTES = 360
ROWS = 1_000
LIMIT_MS = 300
MOVES = 20


def main() -> int:
    """Run; return the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.console", description=__doc__)
    parser.add_argument("--days", type=int, default=DAYS)
    days = parser.parse_args().days
    with tempfile.TemporaryDirectory() as name:
        journal = make_month(Path(name) / "journal", days)
        histories = Histories([JournalSource([FoundJournal(str(journal.folder))])])
        began = time.perf_counter()
        histories.read(histories.all[0])
        print(f"reading {journal.records:,} records: {time.perf_counter() - began:.1f} s")
        print(f"memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at most")
        views = ConsoleViews(histories, None, SystemClock())
        chance = random.Random(1)
        instants = [BEGIN + chance.randrange(days * DAY_MS) for _ in range(MOVES)]
        took = sorted(move(views, instant) for instant in instants)
        print(f"a move of the slider: {took[MOVES // 2]:.0f} ms in the middle, {took[-1]:.0f} ms at most")
        for view, query in (("changes", {}), ("topic", {"name": "topic-00007"}), ("search", {"q": "7"})):
            before = time.process_time()
            msgspec.json.encode(getattr(views, view)(query))
            print(f"{view}: {(time.process_time() - before) * 1_000:.0f} ms")
    return int(took[-1] > LIMIT_MS)


def move(views: ConsoleViews, instant: int) -> float:
    """What the page asks when the slider moves; milliseconds of the CPU."""
    before = time.process_time()
    query = {"at": str(instant), "limit": "50"}
    for view in (views.overview, views.troubles, views.brokers, views.topics):
        msgspec.json.encode(view(query))
    return (time.process_time() - before) * 1_000


def make_month(folder: Path, days: int) -> JournalFile:
    """A record of each broker in each minute, a checkpoint each six hours, some changes each day."""
    journal = JournalFile(folder, "ns1_9876")
    journal.write(BEGIN, "server_started", uuid="u", server_version="0", previous_boot=0, previous_seq=0,
                  scan_interval_ms=5_000, port=9876, checksums=True)  # fmt: skip
    queues: dict[tuple[int, int], int] = {}
    for minute in range(days * 24 * 60):
        ts = BEGIN + minute * MINUTE_MS
        if minute % CHECKPOINT_MINUTES == 0:
            _checkpoint(journal, ts, queues)
            journal.seal()
        if minute % (24 * 60 // CHANGES_A_DAY) == 0:
            _change(journal, ts, minute, queues)
        for broker in range(BROKERS):
            journal.write(ts, "broker_minute", cluster="c", broker_addr=f"10.0.0.{broker}:1", broker_id=0,
                          broker_name=f"broker-{broker}", gen=1, minute=ts, registrations=2)  # fmt: skip
    journal.seal(is_open=True)
    return journal


def _change(journal: JournalFile, ts: int, number: int, queues: dict[tuple[int, int], int]) -> None:
    broker, topic = number % BROKERS, number * 7 % TOPICS
    queues[broker, topic] = 16
    journal.write(ts, "topic_queues", cause="register_broker", peer="10.0.0.1:1",
                  broker_name=f"broker-{broker}", rows=[(f"topic-{topic:05}", 16, 16, 6, 0)])  # fmt: skip


def _checkpoint(journal: JournalFile, ts: int, queues: dict[tuple[int, int], int]) -> None:
    begin = journal.write(ts, "checkpoint_begin", reason="interval")
    for broker in range(BROKERS):
        name, addr = f"broker-{broker}", f"10.0.0.{broker}:1"
        journal.write(
            ts, "broker_live", begin, cluster="c", broker_addr=addr, broker_name=name, broker_id=0, gen=1
        )
        journal.write(ts, "broker_group", begin, broker_name=name, cluster="c", broker_addrs={"0": addr})
        for first in range(0, TOPICS, ROWS):
            numbers = ((topic, queues.get((broker, topic), 8)) for topic in range(first, first + ROWS))
            rows = [(f"topic-{topic:05}", count, count, 6, 0) for topic, count in numbers]
            journal.write(ts, "topic_queues", begin, broker_name=name, rows=rows)
    counts = {"broker_live": BROKERS, "broker_group": BROKERS, "topic_queues": BROKERS * TOPICS // ROWS}
    journal.write(ts, "checkpoint_end", begin, counts=counts)


if __name__ == "__main__":
    raise SystemExit(main())
