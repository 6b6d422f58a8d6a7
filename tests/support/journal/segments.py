"""Segments of journals for tests: records of every kind made from a seed, and files of them cut at will."""

import gzip
import json
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["UUID8", "lines_of", "records_of_a_boot", "segment_name", "write_segment"]

Record = dict[str, Any]

UUID8 = "0a1b2c3d"
HOUR = 3_600_000


def segment_name(records: Sequence[Record], *, uuid8: str = UUID8, ending: str = ".jsonl.gz") -> str:
    """Name of a sealed segment of these records."""
    first, last = records[0], records[-1]
    return f"{first['namesrv']}-{uuid8}-{first['boot']:013}-{first['seq']:012}-{last['seq']:012}{ending}"


def lines_of(records: Iterable[Record]) -> bytes:
    """Records as they stand in a segment."""
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


def write_segment(
    folder: Path, records: Sequence[Record], *, uuid8: str = UUID8, ending: str = ".jsonl.gz", level: int = 6
) -> Path:
    """Write records as one sealed segment."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / segment_name(records, uuid8=uuid8, ending=ending)
    data = lines_of(records)
    path.write_bytes(gzip.compress(data, level) if ending.endswith(".gz") else data)
    return path


def records_of_a_boot(namesrv: str, boot: int, seed: int, changes: int = 20) -> list[Record]:
    """Records of one boot of a name server, of every kind there is, in changes of one to four records."""
    rng = random.Random(seed)
    records: list[Record] = []
    ts = boot
    makers = [*_KINDS]
    rng.shuffle(makers)
    started = {
        "kind": "server_started",
        "uuid": UUID8 + "-0000-4000-8000-000000000000",
        "server_version": "1",
    }
    for change in range(changes):
        ts += rng.choice([0, 20, 900, -500, 60_000])
        size = 1 if change == 0 else rng.randint(1, 4)
        first = len(records) + 1
        for position in range(size):
            body = started if change == 0 else _KINDS[makers[(first + position) % len(makers)]](rng, boot)
            record = {
                **body, "v": 1, "namesrv": namesrv, "boot": boot, "seq": first + position, "change": first,
                "ts": ts, "up_ms": max(0, ts - boot),
            }  # fmt: skip
            if position == size - 1:
                record["end"] = True
            if rng.random() < 0.3:
                record["cause"], record["peer"] = "register_broker", f"10.0.0.{rng.randint(1, 9)}:4000"
            if rng.random() < 0.1 and first > 1:
                record["checkpoint"] = rng.randint(1, first)
            records.append(record)
    return records


def _topic(rng: random.Random) -> str:
    return rng.choice(["orders", "a'; DROP TABLE x", 'say "hi"', "line\nbreak", "../../etc", "été", "%25"])


def _broker(rng: random.Random) -> Record:
    number = rng.randint(0, 3)
    return {
        "cluster": "c", "broker_addr": f"10.1.0.{number}:10911", "broker_name": f"b{number}",
        "broker_id": number % 2, "gen": rng.randint(1, 9),
    }  # fmt: skip


_KINDS: dict[str, Callable[[random.Random, int], dict[str, Any]]] = {
    "server_alive": lambda rng, _: {"kind": "server_alive", "connections": rng.randint(0, 3)},
    "clock_changed": lambda rng, _: {"kind": "clock_changed", "step_ms": rng.randint(-9, 9)},
    "checkpoint_begin": lambda rng, _: {"kind": "checkpoint_begin", "reason": "interval"},
    "checkpoint_end": lambda rng, _: {"kind": "checkpoint_end", "counts": {"kv": rng.randint(0, 3)}},
    "segments_deleted": lambda rng, _: {"kind": "segments_deleted", "segments": ["x"], "bytes": 3, "reason": "age"},
    "broker_live": lambda rng, _: {
        "kind": "broker_live", **_broker(rng), "new": True, "data_version": [0, 5, rng.randint(0, 9)],
    },
    "broker_gone": lambda rng, _: {
        "kind": "broker_live", **_broker(rng), "gone": True, "reason": "expired", "idle_ms": 120_000,
    },
    "broker_group": lambda rng, _: {
        "kind": "broker_group", "broker_name": "b1", "cluster": "c", "broker_addrs": {"0": "10.1.0.1:10911"},
    },
    "group_gone": lambda rng, _: {"kind": "broker_group", "broker_name": "b1", "gone": True},
    "cluster": lambda rng, _: {"kind": "cluster", "cluster": "c", "broker_names": ["b0", "b1"]},
    "cluster_gone": lambda rng, _: {"kind": "cluster", "cluster": "c"},
    "topic_queues": lambda rng, _: {
        "kind": "topic_queues", "broker_name": "b1", "rows": [[_topic(rng), 4, 4, 6, 0], [_topic(rng)]],
    },
    "broker_name_removed": lambda rng, _: {"kind": "broker_name_removed", "broker_name": "b1"},
    "topic_mapping": lambda rng, _: {
        "kind": "topic_mapping", "topic": _topic(rng), "broker_name": "b1", "mapping": {"bname": "b1", "epoch": 3},
    },
    "filter_servers": lambda rng, _: {
        "kind": "filter_servers", "cluster": "c", "broker_addr": "a:1", "filter_servers": ["f:1"],
    },
    "kv": lambda rng, _: {"kind": "kv", "namespace": "n", "key": _topic(rng)},
    "config": lambda rng, _: {"kind": "config", "properties": {"p": "1", "q": _topic(rng)}},
    "broker_minute": lambda rng, boot: {
        "kind": "broker_minute", **_broker(rng), "minute": boot // 60_000 * 60_000, "count": 2, "gaps": [1, 0, 1],
    },
    "lookup_hour": lambda rng, boot: {
        "kind": "lookup_hour", "hour": boot // HOUR * HOUR, "lookups": [[_topic(rng), 3], ["plain", 9]],
    },
    "unknown_topic_minute": lambda rng, boot: {
        "kind": "unknown_topic_minute", "minute": boot // 60_000 * 60_000, "topic": _topic(rng), "count": 1,
    },
    "denied": lambda rng, _: {"kind": "denied", "code": 318, "reason": "no", "count": 4},
    "access": lambda rng, _: {
        "kind": "access", "peer": "10.0.0.1:5", "code": 216, "allowed": True, "rule": "r", "mode": "enforce",
        "about": ["topics=T"], "count": 1,
    },
    "made_up": lambda rng, _: {"kind": "kind_of_tomorrow", "colour": "red"},
}  # fmt: skip
