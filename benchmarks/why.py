"""How long `namekeeper why`, `history` and `incidents` take: `python -m benchmarks.why`.

They read two journals of 130,000 records each, those of a day of 20,000 topics, a month of a quiet fleet in
which a topic changes once a day, and a warehouse of five million records. Each runs in a process of its own,
as a user would start it. Journals are sealed as a name server does it, each five minutes of the month, or as
`--segment-minutes` says. Prints seconds of the CPU and of the wall clock. Exits with 1 if one of them took
more of the CPU than it may: 1 s, and 1.5 s from the warehouse, or if an answer has too few lines.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import made_warehouse
from namekeeper.cli.history import EXIT_NO_SUCH_NAME
from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.contract.names import SegmentName
from namekeeper.journal.disk.segment import sealing

LIMIT_S = 1.0
LIMIT_OF_WAREHOUSE_S = 1.5
BEGIN = 1_700_000_000_000
MINUTE_MS = 60_000
DAY_MS = 86_400_000
BROKERS, TOPICS = 50, 2_000
SEGMENT_MINUTES = 5
"""By default a name server seals a segment after so long."""


class JournalFile:
    """Writes the segments of one made-up name server, sealed ones compressed as the real ones are."""

    def __init__(self, folder: Path, namesrv: str, brokers: int = BROKERS, topics: int = TOPICS) -> None:
        folder.mkdir(parents=True)
        self.brokers, self.topics = brokers, topics
        self.folder = folder
        self._namesrv = namesrv
        self._seq = self.records = 0
        self._lines: list[bytes] = []
        self._first = 1
        self.queues: dict[tuple[int, int], int] = {}
        """Broker and topic -> its queues, where they were changed."""

    def write(self, ts: int, kind: str, checkpoint: int = 0, **members: object) -> int:
        """One record, a change of its own; returns its seq."""
        self._seq += 1
        self.records += 1
        record = {
            "kind": kind, "v": 1, "namesrv": self._namesrv, "boot": BEGIN, "seq": self._seq,
            "change": self._seq, "end": True, "ts": ts, "up_ms": ts - BEGIN,
            **({"checkpoint": checkpoint} if checkpoint else {}), **members,
        }  # fmt: skip
        self._lines.append(with_checksum(json.dumps(record, separators=(",", ":")).encode()))
        return self._seq

    def seal(self, *, is_open: bool = False) -> None:
        """End the segment, as a name server does."""
        name = SegmentName(namesrv=self._namesrv, uuid8="0" * 8, boot=BEGIN, first_seq=self._first)
        (self.folder / str(name)).write_bytes(b"".join(self._lines))
        if not is_open:
            for _ in sealing(str(self.folder), name, self._seq):
                pass
        self._lines, self._first = [], self._seq + 1


def main() -> int:
    """Run; return the exit status."""
    parser = argparse.ArgumentParser("python -m benchmarks.why", description=__doc__)
    parser.add_argument(
        "--segment-minutes", type=int, default=SEGMENT_MINUTES, help="length of a segment of the month"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        two = _of_journals(*(_busy(folder / each, each) for each in ("ns1_9876", "ns2_9876")))
        day_of_topics = _of_journals(
            *(_busy(folder / "topics" / each, each, 4, 20_000, 45_000) for each in ("ns1_9876", "ns2_9876"))
        )
        month = _of_journals(_quiet_month(folder / "month", asked.segment_minutes))
        (folder / "warehouse").mkdir()
        warehouse = ["--warehouse", made_warehouse.make_warehouse(folder / "warehouse")]
        noon, end = _text(BEGIN + DAY_MS // 2), _text(BEGIN + 29 * DAY_MS)
        day, next_day = (_text(made_warehouse.BEGIN + days * DAY_MS) for days in (40, 41))
        window = ("--from", day, "--to", next_day)
        within = [
            _timed("two journals of 130,000 records", two, 100, "why", "topic-00007", "--at", noon),
            _timed("the same", two, 10, "history", "topic-00007", "--from", _text(BEGIN)),
            _timed("a day of 20,000 topics", day_of_topics, 3, "incidents", "--since", _text(BEGIN)),
            _timed("a month of a quiet fleet", month, 50, "why", "topic-00007", "--at", end),
            _timed("the same", month, 29, "history", "topic-00007", "--from", _text(BEGIN)),
            _timed("a warehouse of 5 million records", warehouse, 2, "why", "topic-050", "--at", day),
            _timed("the same, of a topic that never was", warehouse, 2, "why", "topic-999", "--at", day),
            _timed("a day of the same", warehouse, 10, "history", "topic-050", *window),
        ]
    return int(not all(within))


def _of_journals(*journals: JournalFile) -> list[str]:
    return [word for journal in journals for word in ("--journal", str(journal.folder))]


def _text(ms: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms / 1_000))


def _timed(what: str, source: list[str], least: int, command: str, *words: str) -> bool:
    """Run a command; whether it took no more of the CPU than it may, and printed at least so many lines."""
    limit = LIMIT_OF_WAREHOUSE_S if "--warehouse" in source else LIMIT_S
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    argv = [sys.executable, "-m", "namekeeper", command, *words, *source, "--zone", "UTC"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in {0, EXIT_NO_SUCH_NAME}:
        raise SystemExit(done.stderr)
    lines = len(done.stdout.splitlines())
    print(f"{command} over {what}: {cpu:.2f} s of CPU, {wall:.2f} s, {lines} lines", flush=True)
    return cpu <= limit and lines >= least


def _busy(
    folder: Path, namesrv: str, brokers: int = BROKERS, topics: int = TOPICS, records: int = 130_000
) -> JournalFile:
    """A day with so many records."""
    journal = _started(folder, namesrv, brokers, topics)
    while journal.records < records:
        count = journal.records
        ts = BEGIN + count * DAY_MS // records
        if count % 10:
            _broker_minute(journal, ts, count % brokers)
        else:
            changed = [number % topics for number in range(count, count + 20)]
            _changed(journal, ts, count % brokers, changed, queues=8 + count // 20_000)
        if journal.records % 20_000 == 0:
            _checkpoint(journal, ts)
            journal.seal()
    journal.seal(is_open=True)
    return journal


def _quiet_month(folder: Path, segment_minutes: int) -> JournalFile:
    """A minute record of each broker, a change each day, a checkpoint each six hours."""
    journal = _started(folder, "quiet_9876")
    minutes = 30 * DAY_MS // MINUTE_MS
    for minute in range(minutes):
        ts = BEGIN + minute * MINUTE_MS
        journal.write(ts, "server_alive", connections=BROKERS)
        for broker in range(8):
            _broker_minute(journal, ts, broker)
        if minute % 1_440 == 700:
            _changed(journal, ts, 7, [7], queues=9 + minute // 1_440)
        if minute % 360 == 359:
            _checkpoint(journal, ts)
        if minute % segment_minutes == segment_minutes - 1:
            journal.seal(is_open=minute == minutes - 1)
    return journal


def _changed(journal: JournalFile, ts: int, broker: int, topics: list[int], queues: int) -> None:
    """Topics of a broker get other numbers of queues."""
    journal.queues.update({(broker, topic): queues for topic in topics})
    rows = [(f"topic-{topic:05}", queues, queues, 6, 0) for topic in topics]
    journal.write(ts, "topic_queues", cause="register_broker", peer="10.0.0.1:1",
                  broker_name=f"broker-{broker:03}", rows=rows)  # fmt: skip


def _broker_minute(journal: JournalFile, ts: int, number: int) -> None:
    addr = f"10.0.0.{number}:10911"
    about = {"cluster": "c", "broker_addr": addr, "broker_name": f"broker-{number:03}", "broker_id": 0}
    journal.write(ts, "broker_minute", 0, minute=ts // MINUTE_MS * MINUTE_MS, gen=1, **about)


def _started(folder: Path, namesrv: str, brokers: int = BROKERS, topics: int = TOPICS) -> JournalFile:
    journal = JournalFile(folder, namesrv, brokers, topics)
    journal.write(BEGIN, "server_started", uuid="0" * 8, server_version="0", port=9876, previous_boot=0)
    _checkpoint(journal, BEGIN)
    return journal


def _checkpoint(journal: JournalFile, ts: int) -> None:
    begin = journal.write(ts, "checkpoint_begin", reason="interval")
    counts: dict[str, int] = {}
    for kind, members in _rows(journal):
        journal.write(ts, kind, begin, **members)
        counts[kind] = counts.get(kind, 0) + 1
    journal.write(ts, "checkpoint_end", begin, counts=counts)


def _rows(journal: JournalFile) -> Iterator[tuple[str, dict[str, object]]]:
    for number in range(journal.brokers):
        name, addr = f"broker-{number:03}", f"10.0.0.{number}:10911"
        yield "broker_live", {"cluster": "c", "broker_addr": addr, "broker_name": name, "broker_id": 0,
                              "ha_server_addr": "", "timeout_ms": 120_000, "data_version": [0, 1, 1],
                              "channel": number + 1, "remote_addr": addr, "gen": 1}  # fmt: skip
        yield "broker_group", {"broker_name": name, "cluster": "c", "acting_master": False,
                               "broker_addrs": {"0": addr}}  # fmt: skip
        for start in range(0, journal.topics, 1_000):
            numbers = [
                (topic, journal.queues.get((number, topic), 8)) for topic in range(start, start + 1_000)
            ]
            rows = [(f"topic-{topic:05}", count, count, 6, 0) for topic, count in numbers]
            yield "topic_queues", {"broker_name": name, "rows": rows}
    yield (
        "cluster",
        {"cluster": "c", "broker_names": [f"broker-{number:03}" for number in range(journal.brokers)]},
    )


if __name__ == "__main__":
    sys.exit(main())
