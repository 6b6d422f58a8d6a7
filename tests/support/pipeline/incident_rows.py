"""Rows of gold tables with known incidents, and what the query makes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from namekeeper.common.expected import (
    LATE_MS,
    MASS_BROKERS,
    MEMORY_MS,
    SHORTEST_DRIFT_MS,
    TOGETHER_END_MS,
    TOGETHER_MS,
)
from namekeeper.pipeline.gold.gold_graph import gold_graph
from namekeeper.pipeline.gold.plan import BEGINNING, FOREVER
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import names_in
from tests.support.pipeline.duck import DuckQueries

__all__ = ["NOW", "assert_incidents", "away", "groups", "held", "incidents_of", "session", "unwritable"]

NOW = 90_000_000
"""The last time that is known."""

Row = Mapping[str, Any]


def away(name: str, begin: int, end: int, broker_id: int = 0) -> list[Row]:
    """A broker is down, in one piece for each of two days."""
    row = {"cluster": "c", "broker_name": name, "broker_id": broker_id, "state": "down", "began_at": begin}
    middle = (begin + end) // 2
    return [{**row, "valid_from": begin, "valid_to": middle}, {**row, "valid_from": middle, "valid_to": end}]


def unwritable(topic: str, begin: int, end: int) -> list[Row]:
    """A topic can't be written to, in one piece for each of two days."""
    row = {"cluster": "c", "topic": topic, "state": "no_route"}
    middle = (begin + end) // 2
    return [{**row, "valid_from": begin, "valid_to": middle}, {**row, "valid_from": middle, "valid_to": end}]


def groups(*names: str) -> list[Row]:
    """Broker names of the cluster."""
    return [{"namesrv": "ns-1", "broker_name": name, "cluster": "c", "valid_from": 0} for name in names]


def session(name: str, end: int, reason: str = "channel_closed", **more: Any) -> Row:
    """The registration of a master ends."""
    return {
        "namesrv": "ns-1", "cluster": "c", "broker_addr": f"{name}:1", "broker_name": name, "broker_id": 0,
        "valid_from": -1_000, "valid_to": end, "ended_by": "gone", "reason": reason, **more,
    }  # fmt: skip


def held(topic: str, name: str, end: int | None = None, cause: str | None = None, **more: Any) -> Row:
    """A row of a topic that can be written to; it ends because of something else than its broker if it ends."""
    return {
        "namesrv": "ns-1", "broker_name": name, "topic": topic, "perm": 6, "write_queue_nums": 4, "valid_from": -1_000,
        "valid_to": end, "ended_by": None if end is None else "changed", "to_cause": cause, **more,
    }  # fmt: skip


def incidents_of(**rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The incidents that these rows of tables make, in the order of time."""
    duck = DuckQueries()
    queries = ("asked_topic_row", "incident_horizon", "incident_part", "topic_outage_cause", "new_incident")
    views = [view for view in gold_graph() if view.name in queries]
    duck.put("last_record_time", "namesrv string, up_to bigint", [("ns-1", NOW)])
    names = {"ns-1", *(row["namesrv"] for some in rows.values() for row in some if "namesrv" in row)}
    duck.put(
        "labelled_period",
        "namesrv string, cluster_label string, from_ts bigint, to_ts bigint",
        [(namesrv, "", BEGINNING, FOREVER) for namesrv in sorted(names)],
    )
    for name in {name for view in views for name in view.reads} - {
        "last_record_time",
        "labelled_period",
        *queries,
    }:
        table = GOLD.get(name) or FACTS[name]
        given = rows.get(name, ())
        columns = names_in(table)
        assert set().union(*given) <= set(columns)
        duck.put(name, table.ddl, [tuple(map(row.get, columns)) for row in given])
    args = {
        "forever": FOREVER, "together_ms": TOGETHER_MS, "late_ms": LATE_MS, "memory_ms": MEMORY_MS,
        "mass_brokers": MASS_BROKERS, "shortest_drift_ms": SHORTEST_DRIFT_MS,
        "together_end_ms": TOGETHER_END_MS,
    }  # fmt: skip
    for view in views:
        duck.define(view.name, view.sql, args)
    return sorted(duck.rows("new_incident"), key=lambda row: (row["from_ts"], row["kind"]))


def assert_incidents() -> None:
    """Check one day whose incidents are known."""
    minute = 60_000
    back = {"cluster": "c", "broker_name": "b0", "broker_id": 0, "state": "up", "began_at": 20 * minute}
    stopped = [(begin, begin + 5_000) for begin in (80 * minute, 80 * minute + 20_000)]
    in_vain = {
        "one": (4, 5, 19, 20), "later": (11,), "never": (6,), "starting": (40,), "deleted": (49, 55, 59),
    }  # fmt: skip
    found = incidents_of(
        broker_state_daily=[
            *away("b0", 5 * minute, 20 * minute), {**back, "valid_from": 20 * minute, "valid_to": NOW},
            *away("b1", 10 * minute, 12 * minute),
            *({**row, "state": "unregistered"} for row in away("b2", 5 * minute + 20_000, 12 * minute)),
            *away("b3", 30 * minute, 30 * minute + 10_000), *away("b3", 31 * minute, 32 * minute),
        ],
        broker_group_history=groups("b0", "b1", "b3"),
        broker_session=[session("b0", 5 * minute), session("b1", 10 * minute), session("b3", 30 * minute)],
        topic_route=[
            held("one", "b0"), held("both", "b0"), held("both", "b1"), held("later", "b1"), held("flapping", "b3"),
            held("alone", "b1", 60 * minute, "register_broker"),
            held("deleted", "b1", 50 * minute, "delete_topic", ended_by="gone"),
            {**held("deleted", "b1"), "valid_from": 57 * minute},
            held("stopped", "b1", 80 * minute, ended_by="stopped"),
        ],
        topic_outage_daily=[
            *unwritable("one", 5 * minute, 20 * minute),
            *unwritable("both", 10 * minute, 12 * minute),
            *unwritable("later", 10 * minute, 12 * minute),
            *unwritable("flapping", 30 * minute, 30 * minute + 10_000),
            *unwritable("starting", 40 * minute, 40 * minute + 6),
            *unwritable("alone", 60 * minute, 70 * minute),
            *unwritable("stopped", 80 * minute, 80 * minute + 5_000),
        ],
        view_drift_topic=[
            {"cluster": "c", "broker_name": "b0", "topic": "differs", "valid_from": 25 * minute, "is_open": False,
             "views": ["ns-1: absent", "ns-2: read 4, write 4, perm 6, flag 0"], "valid_to": 26 * minute},
            {"cluster": "c", "broker_name": "b0", "topic": "late", "valid_from": 27 * minute, "is_open": False,
             "views": ["ns-1: absent", "ns-2: read 4, write 4, perm 6, flag 0"], "valid_to": 27 * minute + 29_000},
        ],
        unknown_topic_minute=[
            *(
                {"namesrv": "ns-1", "topic": topic, "minute": at * minute, "count": 7, "language": "JAVA"}
                for topic, minutes in in_vain.items() for at in minutes
            ),
            {"namesrv": "ns-1", "topic": "differs", "minute": 25 * minute, "count": 20},
            {"namesrv": "ns-2", "topic": "differs", "minute": 25 * minute, "count": 300},
        ],
        name_server_timeline=[
            {"namesrv": "ns-1", "state": "stopped", "valid_from": begin, "valid_to": end} for begin, end in stopped
        ],
    )  # fmt: skip
    names = "kind", "subject", "topics", "lookups", "is_forgotten", "topic_ms"
    assert [tuple(row[name] for name in names) for row in found] == [
        ("broker_away", "b0", 1, 14, False, 15 * minute),
        ("broker_unregistered", "b2", 0, 0, True, 0),
        ("broker_away", "b1", 2, 7, True, 4 * minute),
        ("drift", "differs", 1, 20, False, 0),
        ("broker_away", "b3", 1, 0, True, 10_000),
        ("broker_away", "b3", 0, 0, True, 0),
        ("topic_deleted", "deleted", 1, 7, False, 0),
        ("topic_unwritable", "alone", 1, 0, False, 10 * minute),
        ("name_server_down", "ns-1", 1, 0, False, 5_000),
        ("name_server_down", "ns-1", 0, 0, False, 0),
    ]
