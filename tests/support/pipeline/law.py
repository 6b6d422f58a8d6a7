"""The law (docs/decisions/0013) as assertions about the rows of gold tables, wherever they were made."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from namekeeper.journal.contract.decode import RecordReader
from namekeeper.journal.contract.lines import split_lines
from namekeeper.journal.reading.coverage import Knowledge
from namekeeper.journal.reading.history import AnyRecord
from namekeeper.journal.reading.replay import state_at
from namekeeper.journal.reading.state import State as Replayed
from namekeeper.pipeline.gold.histories import HISTORIES
from tests.support.history.activity import capacity_of, heartbeats_of, vain_lookups_of
from tests.support.history.histories import History, Record
from tests.support.history.oracle import State, Story, tell
from tests.support.history.sums import Sums
from tests.support.pipeline.gold_state import GoldState, frozen, instants_of, periods_of

__all__ = ["Law", "read", "records_of"]

RowsOf = Callable[[str], Sequence[Mapping[str, Any]]]
BROKER_STATES = ("up", "down", "unknown", "unregistered")
ACTIVITY = {
    "heartbeat_gap_daily": ("day", "namesrv", "boot", "gen"),
    "unknown_topic_daily": ("day", "namesrv", "topic", "language", "client_version"),
    "capacity_daily": ("day", "namesrv", "broker_name"),
}
"""Tables of what was counted -> what names a row."""
TOPIC_STATES = ("writable", "unwritable", "no_route", "unknown")


def records_of(some: Iterable[History]) -> list[Record]:
    """All records of histories, one name server after the other."""
    return [record for each in some for records in each.records.values() for record in records]


class Law:
    """What is true of some histories, to be held against the rows of tables."""

    def __init__(self, histories: Sequence[History]) -> None:
        self.histories = histories
        self.stories: dict[str, dict[str, Story]] = {
            each.name: {namesrv: tell(records) for namesrv, records in each.records.items()}
            for each in histories
        }
        self.horizon = max(story.knows_up_to for _, _, story in self.servers())

    def servers(self) -> list[tuple[History, str, Story]]:
        """Every name server with its history and its story."""
        return [
            (each, namesrv, self.stories[each.name][namesrv])
            for each in self.histories
            for namesrv in each.records
        ]

    def sums(self, history: History) -> Sums:
        """Plain sums over the name servers of a history."""
        return Sums(self.stories[history.name], self.horizon)

    def assert_beliefs(self) -> int:
        """The oracle says what the name servers held, at every position that is known; returns at how many."""
        compared = 0
        for history, namesrv, story in self.servers():
            steps = {(step.boot, step.position): step for step in story.steps}
            for belief in history.beliefs[namesrv]:
                step = steps.get((belief.boot, belief.seq))
                if step is not None and step.status == "up":
                    assert step.state == belief.state, (namesrv, belief.boot, belief.seq)
                    compared += 1
        return compared

    def assert_states(self, rows_of: RowsOf, rng: random.Random, *, instants: int) -> None:
        """The histories are what the oracle says, at many instants of each name server."""
        gold = GoldState(rows_of)
        for _, namesrv, story in self.servers():
            every = instants_of(story)
            for ts in rng.sample(every, min(instants, len(every))):
                step, found = story.at(ts), gold.at(namesrv, ts)
                assert found == (step.state if step else {name: {} for name in found}), (namesrv, ts)

    def assert_replays(self, rng: random.Random, *, instants: int) -> int:
        """The replay of the journal is what the oracle says where that knows; returns at how many instants."""
        compared = 0
        for history, namesrv, story in self.servers():
            records = list(read(history.records[namesrv]))
            every = instants_of(story)
            for ts in rng.sample(every, min(instants, len(every))):
                step, found = story.at(ts), state_at(records, ts)
                status = step.status if step and ts <= story.knows_up_to else None
                if step and status == "up":
                    assert found.knowledge is Knowledge.KNOWN, (namesrv, ts)
                    assert _of_replay(found.state) == step.state, (namesrv, ts)
                    compared += 1
                elif status == "unknown":
                    assert found.knowledge is Knowledge.UNKNOWN, (namesrv, ts)
        return compared

    def assert_periods(self, rows_of: RowsOf) -> None:
        """What is unknown begins at a loss and ends at a complete checkpoint, and nothing else is unknown."""
        timeline = rows_of("name_server_timeline")
        for _, namesrv, story in self.servers():
            assert periods_of(timeline, namesrv) == story.periods(), namesrv

    def assert_joined(self, rows_of: RowsOf) -> None:
        """No row of a history goes on as the next one."""
        for history in HISTORIES:
            key, values = ("namesrv", *history.key), history.values
            rows = sorted(
                rows_of(history.table.name), key=lambda row: (*(row[name] for name in key), row["valid_from"])
            )
            for one, other in pairwise(rows):
                same = all(one[name] == other[name] for name in (*key, *values))
                assert not same or one["valid_to"] != other["valid_from"], (history.table.name, one)

    def assert_known_up_to(self, rows_of: RowsOf) -> None:
        """Each name server is known up to its last record."""
        boots = sorted(rows_of("name_server_session"), key=lambda row: row["boot"])
        known = {row["namesrv"]: row["knows_up_to"] for row in boots}
        assert known == {namesrv: story.knows_up_to for _, namesrv, story in self.servers()}

    def assert_brokers(self, rows_of: RowsOf) -> None:
        """Times of brokers add up as in a plain loop."""
        found: dict[str, dict[Any, Any]] = defaultdict(dict)
        for row in rows_of("broker_availability_daily"):
            key = row["day"], row["broker_name"], row["broker_id"]
            found[row["cluster"]][key] = _times({**row, "unregistered_ms": 0}, BROKER_STATES)
        for row in rows_of("broker_state_daily"):
            if row["state"] == "unregistered":
                times = found[row["cluster"]][row["day"], row["broker_name"], row["broker_id"]]
                times["unregistered"] = times.get("unregistered", 0) + row["valid_to"] - row["valid_from"]
        unregistered: dict[str, set[tuple[str, int, int]]] = defaultdict(set)
        for row in rows_of("broker_session"):
            if row["reason"] == "unregister_broker":
                unregistered[row["cluster"]].add((row["broker_name"], row["broker_id"], row["valid_to"]))
        for each in self.histories:
            assert found[each.name] == self.sums(each).broker_days(unregistered[each.name]), each.name
        assert _states(found) == set(BROKER_STATES)

    def assert_topics(self, rows_of: RowsOf) -> None:
        """Times of topics add up as in a plain loop."""
        found: dict[str, dict[Any, Any]] = defaultdict(dict)
        for row in rows_of("topic_availability_daily"):
            found[row["cluster"]][row["day"], row["topic"]] = _times(row, TOPIC_STATES)
        deleted: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
        for row in rows_of("topic_route"):
            if row["ended_by"] in {"gone", "changed"} and row["reason"] is None:
                deleted[row["namesrv"]].append((row["broker_name"], row["topic"], row["valid_to"]))
        worst: dict[str, dict[Any, Any]] = defaultdict(dict)
        for row in rows_of("topic_availability_daily"):
            worst[row["cluster"]][row["day"], row["topic"]] = (row["worst_namesrv"], row["worst_ms"])
        were_worse = 0
        for each in self.histories:
            sums = self.sums(each)
            days = sums.topic_days(deleted)
            assert found[each.name] == days, each.name
            lost = sums.worst_topic_days(deleted)
            at_worst = {key: max((ms, name) for name, ms in times.items()) for key, times in lost.items()}
            assert worst[each.name] == {key: at_worst.get(key, (0, None))[::-1] for key in days}, each.name
            were_worse += sum(
                ms > times.get("unwritable", 0) + times.get("no_route", 0)
                for key, times in days.items()
                for ms, _ in [at_worst.get(key, (0, None))]
            )
        assert were_worse
        assert _states(found) == set(TOPIC_STATES)

    def assert_activity(self, rows_of: RowsOf) -> None:
        """Heartbeats, vain look-ups and what brokers had add up as in plain loops."""
        wanted: dict[str, dict[Any, dict[str, Any]]] = {name: {} for name in ACTIVITY}
        for each in self.histories:
            periods = self.sums(each).periods
            for namesrv, records in each.records.items():
                beats = heartbeats_of(records)
                wanted["heartbeat_gap_daily"] |= beats
                wanted["unknown_topic_daily"] |= vain_lookups_of(records)
                wanted["capacity_daily"] |= capacity_of(periods[namesrv], beats, namesrv)
        for table, key in ACTIVITY.items():
            rows = {tuple(row[name] for name in key): row for row in rows_of(table)}
            plain = wanted[table]
            assert plain.keys() == rows.keys(), table
            for of_row, values in plain.items():
                assert {name: rows[of_row][name] for name in values} == values, (table, of_row)

    def assert_drift(self, rows_of: RowsOf) -> int:
        """Name servers disagree when a plain loop says so; returns how often."""
        found: dict[str, list[Any]] = defaultdict(list)
        for row in rows_of("view_drift_broker"):
            broker = (row["broker_name"], row["broker_id"], row["broker_addr"])
            sides = (tuple(row["held_by"] or ()), tuple(row["missing_at"] or ()))
            found[row["cluster"]].append((broker, *sides, row["valid_from"], row["valid_to"]))
        topics: dict[str, list[Any]] = defaultdict(list)
        for row in rows_of("view_drift_topic"):
            views = tuple(row["views"]), row["valid_from"], row["valid_to"]
            topics[row["cluster"]].append((row["broker_name"], row["topic"], *views))
        clocks = {
            (row["namesrv"], row["day"]): row["offset_ms"] for row in rows_of("name_server_clock_daily")
        }
        samples = _samples(rows_of("broker_address"))
        for each in self.histories:
            sums = self.sums(each)
            offsets = sums.offsets(samples[each.name].values())
            assert all(clocks[key] == offset for key, offset in offsets.items()), each.name
            assert sorted(found[each.name]) == sums.drift(offsets), each.name
            assert sorted(topics[each.name]) == sums.topic_drift(offsets), each.name
        return min(sum(map(len, some.values())) for some in (found, topics))


def _times(row: Mapping[str, Any], states: Iterable[str]) -> dict[str, int]:
    return {state: row[f"{state}_ms"] for state in states if row[f"{state}_ms"]}


def _states(found: Mapping[str, Mapping[Any, Mapping[str, int]]]) -> set[str]:
    return {state for some in found.values() for times in some.values() for state in times}


def _samples(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[Any, dict[str, int]]]:
    """Cluster -> broker and data version -> name server -> when it first saw it, in a session that went on."""
    of_broker: dict[Any, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        of_broker[row["namesrv"], row["cluster"], row["broker_addr"]].append(row)
    samples: dict[str, dict[Any, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for (namesrv, cluster, addr), some in of_broker.items():
        for before, row in pairwise(sorted(some, key=lambda row: row["valid_from"])):
            same = (before["boot"], before["gen"]) == (row["boot"], row["gen"])
            if same and row["from_cause"] is not None and before["data_version"] != row["data_version"]:
                samples[cluster][addr, tuple(row["data_version"])].setdefault(namesrv, row["valid_from"])
    return samples


def read(records: Iterable[Record]) -> Iterable[AnyRecord]:
    """The records of a history as a reader of its journal gives them."""
    reader = RecordReader()
    lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    for line in split_lines([lines]):
        record = reader(line)
        assert record is not None, reader.first_unreadable
        yield record


def _of_replay(replayed: Replayed) -> State:
    tables = replayed.tables
    version = ("state_version", "timestamp", "counter")
    return {
        "live": {
            (live.cluster_name, live.broker_addr): (
                live.broker_name, live.broker_id, live.gen, live.ha_server_addr, live.heartbeat_timeout_ms,
                tuple(getattr(live.data_version, name) for name in version),
            )
            for live in tables.broker_live_table
        },
        "group": {
            (name,): (
                group.cluster, group.zone_name, group.enable_acting_master, tuple(sorted(group.broker_addrs.items())),
            )
            for name, group in tables.broker_addr_table.items()
        },
        "cluster": {(name,): tuple(sorted(members)) for name, members in tables.cluster_addr_table.items()},
        "topic": {
            (name, topic): (
                row.effective.read_queue_nums, row.effective.write_queue_nums, int(row.effective.perm),
                row.effective.topic_sys_flag,
            )
            for name, rows in tables.topic_queue_table.items()
            for topic, row in rows.items()
        },
        "mapping": {
            (topic, name): frozen(msgspec.to_builtins(mapping, str_keys=True))
            for topic, by_name in tables.topic_queue_mapping_info_table.items()
            for name, mapping in by_name.items()
        },
        "filter": {key: tuple(servers) for key, servers in tables.filter_server_table.items()},
        "kv": {
            (namespace, key): value for namespace, entries in replayed.kv.items() for key, value in entries.items()
        },
        "config": {(name,): value for name, value in replayed.properties.items()},
    }  # fmt: skip
