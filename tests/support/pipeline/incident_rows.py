"""Rows of gold tables with known incidents, and what the query makes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from namekeeper.pipeline.gold.gold_graph import gold_graph
from namekeeper.pipeline.gold.plan import FOREVER
from namekeeper.pipeline.gold.steps import MASS_BROKERS, TOGETHER_MS
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from tests.support.pipeline.duck import Duck

__all__ = ["NOW", "assert_incidents", "away", "incidents_of", "unwritable"]

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


def incidents_of(**rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The incidents that these rows of tables make, in the order of time."""
    duck = Duck()
    view = gold_graph()["new_incident"]
    duck.put("last_record_time", "namesrv string, up_to bigint", [("ns-1", NOW)])
    for name in view.reads - {"last_record_time"}:
        table = GOLD.get(name) or FACTS[name]
        duck._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM stored_{table.name}")
        for row in rows.get(name, ()):
            names = ", ".join(f'"{column}"' for column in row)
            marks = ", ".join("?" for _ in row)
            duck._connection.execute(f"INSERT INTO {name} ({names}) VALUES ({marks})", list(row.values()))
    args = {"forever": FOREVER, "together_ms": TOGETHER_MS, "mass_brokers": MASS_BROKERS}
    duck.define("new_incident", view.sql, args)
    return sorted(duck.rows("new_incident"), key=lambda row: (row["from_ts"], row["kind"]))


def assert_incidents() -> None:
    """Check one day whose incidents are known."""
    minute = 60_000
    back = {"cluster": "c", "broker_name": "b0", "broker_id": 0, "state": "up", "began_at": 20 * minute}
    found = incidents_of(
        broker_state_daily=[
            *away("b0", 5 * minute, 20 * minute), {**back, "valid_from": 20 * minute, "valid_to": NOW},
            *away("b1", 10 * minute, 12 * minute),
            *({**row, "state": "unregistered"} for row in away("b2", 5 * minute + 20_000, 12 * minute)),
        ],
        topic_outage_daily=[
            *unwritable("one", 5 * minute, 20 * minute),
            *unwritable("later", 11 * minute, 12 * minute),
            *unwritable("alone", 60 * minute, 70 * minute),
        ],
        unknown_topic_minute=[
            {"topic": topic, "minute": at * minute, "count": 7, "language": "JAVA"}
            for topic, at in (("one", 4), ("one", 5), ("one", 19), ("one", 20), ("later", 11), ("never", 6))
        ],
        name_server_timeline=[
            {"namesrv": "ns-1", "state": "stopped", "valid_from": begin, "valid_to": begin + 5_000}
            for begin in (80 * minute, 80 * minute + 20_000)
        ],
    )  # fmt: skip
    names = "kind", "subject", "topics", "lookups", "is_forgotten"
    assert [tuple(row[name] for name in names) for row in found] == [
        ("broker_away", "b0", 1, 14, False),
        ("broker_unregistered", "b2", 0, 0, True),
        ("broker_away", "b1", 1, 7, True),
        ("topic_unwritable", "alone", 1, 0, False),
        ("name_server_down", "ns-1", 0, 0, False),
        ("name_server_down", "ns-1", 0, 0, False),
    ]
