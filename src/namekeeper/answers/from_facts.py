"""Makes the steps of a name server's history from the pipeline's facts, as its journal would give them.

A fact is a record, or a row of one, as docs/reference/warehouse.md says. Facts hold complete changes only,
and the pipeline has already found the losses and the complete checkpoints, so no record is needed only for
its position. The tables here have the names of the pipeline's queries, in `pipeline/answers/sql`:

- for times: `server_start_or_stop`, `loss`, `complete_checkpoint`, `name_server_boot`,
  `hidden_time`;
- rows of state kinds, of changes and of complete checkpoints: `recorded_live`, `recorded_group`,
  `recorded_topic`, `recorded_name_removed`, `recorded_mapping`, `recorded_filter_servers`, `recorded_kv`,
  `recorded_config`;
- for evidence, `name_server_period`, `lookup_in_vain` of the topic, and `refused_request`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Raw, structs

from namekeeper.answers.collector import EvidenceCollector
from namekeeper.answers.evidence import Evidence, KnownPeriod, Lookups, RefusedRequest
from namekeeper.answers.from_rows import Row, Tables
from namekeeper.answers.row_changes import HistoryEvent, RowChanges
from namekeeper.journal.contract.record import (
    NO_MAPPING,
    BrokerGroup,
    BrokerLive,
    BrokerNameRemovedRecord,
    Config,
    FilterServers,
    Kv,
    Record,
    ServerStarted,
    TopicMapping,
    TopicQueues,
)
from namekeeper.journal.reading.history import Began, Changed, CheckpointApplied, Lost, Seen, Step, Stopped
from namekeeper.journal.reading.state import State

__all__ = ["Bases", "changes_from_facts", "evidence_from_facts", "steps_from_facts"]

Bases = Mapping[str, tuple[int, int]]
"""Name server -> boot and seq of the begin of the checkpoint to begin with; (0, 0): with the first record."""

_Positioned = tuple[int, int, int, Step]
"""(boot, position, order at this position, step)."""


def evidence_from_facts(
    topic: str, tables: Tables, bases: Bases, knows_up_to: Mapping[str, int]
) -> list[Evidence]:
    """Evidence about a topic at each name server.

    Args:
        topic: its name, which need not be known.
        tables: rows as described above.
        bases: the name servers, and where each begins.
        knows_up_to: name server -> wall ms of its last record.
    """
    found = []
    for namesrv in sorted(bases):
        collector = EvidenceCollector(namesrv, topic)
        for step in steps_from_facts(tables, namesrv, bases[namesrv]):
            collector.take(step)
        rows = [row for row in tables.get("name_server_period", ()) if row["namesrv"] == namesrv]
        periods = sorted(msgspec.convert(rows, list[KnownPeriod]), key=_valid_from)
        lookups = [row for row in tables.get("lookup_in_vain", ()) if row["namesrv"] == namesrv]
        refused = [row for row in tables.get("refused_request", ()) if row["namesrv"] == namesrv]
        evidence = structs.replace(
            collector.result(),
            known_from=periods[0].valid_from if periods else None,
            knows_up_to=knows_up_to[namesrv],
            periods=periods,
            lookups=msgspec.convert(lookups, list[Lookups]),
            refused=msgspec.convert(refused, list[RefusedRequest]),
        )
        found.append(evidence)
    return found


def changes_from_facts(
    name: str | None, tables: Tables, bases: Bases, begin_at: int, end_at: int
) -> list[HistoryEvent]:
    """Changes of the rows about a name, or of all rows, after `begin_at`, up to `end_at`."""
    found: list[HistoryEvent] = []
    for namesrv in sorted(bases):
        changes = RowChanges(namesrv, name)
        for step in steps_from_facts(tables, namesrv, bases[namesrv]):
            changes.take(step)
        found += changes.result(begin_at, end_at)
    return found


def steps_from_facts(tables: Tables, namesrv: str, base: tuple[int, int] = (0, 0)) -> list[Step]:
    """The steps of one name server, in order.

    Args:
        tables: rows as described above; rows of other name servers are ignored.
        namesrv: its id.
        base: boot and seq of the begin of the checkpoint to begin with.
    """
    own = {name: [row for row in rows if row["namesrv"] == namesrv] for name, rows in tables.items()}
    positioned = [*_server_steps(own), *_state_steps(own)]
    positioned.sort(key=itemgetter(0, 1, 2))
    return [step for boot, position, _, step in positioned if (boot, position) >= base]


def _server_steps(own: Mapping[str, list[Row]]) -> Iterator[_Positioned]:
    for row in own.get("name_server_boot", ()):
        yield row["boot"], 0, 0, Seen(row["boot"], 0, row["first_ts"], None)
    for row in own.get("hidden_time", ()):
        yield row["boot"], row["place"], 2, Seen(row["boot"], row["seq"], row["ts"], None)
    for row in own.get("server_start_or_stop", ()):
        boot, seq, ts = row["boot"], row["seq"], row["ts"]
        if row["kind"] == "server_started":
            yield boot, seq, 0, Began(boot, seq, ts, ServerStarted(uuid="", server_version=""))
        else:
            yield boot, seq, 0, Stopped(boot, seq, ts)
    for row in own.get("loss", ()):
        boot, seq = row["boot"], row["first_seq"]
        yield boot, seq, 0, Lost(boot, seq, row["unknown_from"])


def _state_steps(own: Mapping[str, list[Row]]) -> Iterator[_Positioned]:
    changes: dict[tuple[int, int], list[Record]] = {}
    states: dict[tuple[int, int], list[Record]] = {}
    for name, make in _RECORDS.items():
        for row in own.get(name, ()):
            record = _with_envelope(make(row), row)
            if row["checkpoint"] is None:
                changes.setdefault((row["boot"], row["change"]), []).append(record)
            else:
                states.setdefault((row["boot"], row["checkpoint"]), []).append(record)
    for (boot, _), records in changes.items():
        records.sort(key=_seq)
        last = records[-1]
        yield boot, last.seq, 1, Changed(boot, last.seq, last.ts, records)
    for row in own.get("complete_checkpoint", ()):
        boot, begin = row["boot"], row["begin_seq"]
        state = State()
        state.apply(sorted(states.get((boot, begin), []), key=_seq))
        yield boot, begin, 1, CheckpointApplied(boot, begin, row["from_ts"], state)


def _with_envelope(record: Record, row: Row) -> Record:
    record.boot, record.seq, record.ts = row["boot"], row["seq"], row["ts"]
    record.cause, record.peer = row["cause"] or "", row["peer"] or ""
    return record


def _valid_from(period: KnownPeriod) -> int:
    return period.valid_from


def _seq(record: Record) -> int:
    return record.seq


def _live(row: Row) -> Record:
    version: Iterable[int] | None = row["data_version"]
    return BrokerLive(
        cluster=row["cluster"],
        broker_addr=row["broker_addr"],
        broker_name=row["broker_name"],
        broker_id=row["broker_id"],
        gen=row["gen"],
        ha_server_addr=row["ha_server_addr"] or "",
        timeout_ms=row["timeout_ms"] or 0,
        data_version=None if version is None else _three(version),
        gone=bool(row["gone"]),
        reason=row["reason"] or "",
        idle_ms=row["idle_ms"] or 0,
        closed_by=row.get("closed_by") or "",
    )


def _three(version: Iterable[int]) -> tuple[int, int, int]:
    state_version, timestamp, counter = version
    return state_version, timestamp, counter


def _group(row: Row) -> Record:
    addrs: Mapping[str, str] = row["broker_addrs"] or {}
    return BrokerGroup(
        broker_name=row["broker_name"],
        cluster=row["cluster"] or "",
        zone=row["zone"],
        acting_master=bool(row["acting_master"]),
        broker_addrs={int(broker_id): addr for broker_id, addr in addrs.items()},
        gone=bool(row["gone"]),
    )


def _topic(row: Row) -> Record:
    queues: tuple[Any, ...] = ()
    if not row["gone"]:
        queues = (row["read_queue_nums"], row["write_queue_nums"], row["perm"], row["topic_sys_flag"])
    return TopicQueues(broker_name=row["broker_name"], rows=[(row["topic"], *queues)])


def _name_removed(row: Row) -> Record:
    return BrokerNameRemovedRecord(broker_name=row["broker_name"])


def _mapping(row: Row) -> Record:
    mapping = NO_MAPPING if row["mapping"] is None else Raw(row["mapping"].encode())
    return TopicMapping(
        topic=row["topic"], broker_name=row["broker_name"], mapping=mapping, gone=bool(row["gone"])
    )


def _filter_servers(row: Row) -> Record:
    return FilterServers(
        cluster=row["cluster"],
        broker_addr=row["broker_addr"],
        filter_servers=[] if row["gone"] else list(row["filter_servers"] or ()),
    )


def _kv(row: Row) -> Record:
    return Kv(namespace=row["namespace"], key=row["key"], value=row["value"] or "", gone=bool(row["gone"]))


def _config(row: Row) -> Record:
    return Config(properties={row["property"]: row["value"]})


_RECORDS: Mapping[str, Callable[[Row], Record]] = {
    "recorded_live": _live,
    "recorded_group": _group,
    "recorded_topic": _topic,
    "recorded_name_removed": _name_removed,
    "recorded_mapping": _mapping,
    "recorded_filter_servers": _filter_servers,
    "recorded_kv": _kv,
    "recorded_config": _config,
}
