"""How some name servers see a topic, and when the SQL says that they disagree about it."""

from namekeeper.pipeline.gold.gold_graph import gold_graph
from tests.support.pipeline.duck import DuckQueries

__all__ = ["DRIFTS", "VIEWS", "drifts_of"]

Drifts = list[tuple[int, int, list[str]]]
"""From, to, and what each name server sees."""

VIEWS = {
    "seen the same": [("a", "read 8", 0, 90), ("b", "read 8", 0, 90)],
    "seen otherwise": [("a", "read 8", 0, 90), ("b", "read 4", 0, 90)],
    "lacking at one": [("a", "read 8", 0, 90)],
    "late at one": [("a", "read 8", 0, 90), ("b", "read 8", 30, 90)],
}
"""Topic -> name server, what it sees, from and to. Both hold the broker name from 0 to 90."""

DRIFTS: dict[str, Drifts] = {
    "seen the same": [],
    "seen otherwise": [(0, 90, ["a: read 8", "b: read 4"])],
    "lacking at one": [(0, 90, ["a: read 8", "b: absent"])],
    "late at one": [(0, 30, ["a: read 8", "b: absent"])],
}
"""What the query must find for them."""


def drifts_of(servers: list[str]) -> dict[str, Drifts]:
    """When these name servers disagree about each topic of VIEWS.

    Args:
        servers: Name servers that there are.
    """
    duck = DuckQueries()
    duck.put(
        "registered_broker_name",
        "namesrv string, broker_name string, is_open boolean, valid_from bigint, valid_to bigint",
        [(server, "broker-1", False, 0, 90) for server in servers],
    )
    duck.put(
        "cluster_of_broker_name",
        "cluster_label string, broker_name string, cluster string",
        [("", "broker-1", "c")],
    )
    duck.put("namesrv_label", "namesrv string, cluster_label string", [(server, "") for server in servers])
    duck.put(
        "namesrv_cluster",
        "namesrv string, namesrv_cluster string, cluster_label string, from_ts bigint, to_ts bigint",
        [(server, "a", "", 0, 90) for server in servers],
    )
    duck.put("name_server_clock_daily", "namesrv string, day string, offset_ms bigint", [])
    duck.put(
        "observed_topic",
        "namesrv string, cluster string, broker_name string, topic string, seen string, uncorrected_from bigint,"
        " uncorrected_to bigint, valid_from bigint, valid_to bigint, from_window_ms bigint, to_window_ms bigint",
        [
            (server, "c", "broker-1", topic, seen, start, end, start, end, None, None)
            for topic, views in VIEWS.items()
            for server, seen, start, end in views
            if server in servers
        ],
    )
    duck.define(
        "found",
        gold_graph()["computed_view_drift_topic"].sql,
        {"zone": "UTC", "cut_from": -10, "cut_to": 1_000},
    )
    found: dict[str, Drifts] = {topic: [] for topic in VIEWS}
    for row in duck.rows("found"):
        found[row["topic"]].append((row["valid_from"], row["valid_to"], row["views"]))
    return found
