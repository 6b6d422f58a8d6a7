"""Answers about a topic at a time: what name servers held, and the evidence why it had no route.

Times are wall ms since 1970. What people type is passed as data and never becomes text of a query.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.answers.warehouse import Warehouse, opened, table
from namekeeper.pipeline.gold.plan import FOREVER

__all__ = [
    "RouteRows",
    "TopicEvidenceRows",
    "knowledge",
    "route_at",
    "route_rows",
    "why_rows",
]

Row = Mapping[str, Any]

KNOWN, UNKNOWN, NOT_YET, BEFORE, STOPPED = (
    "known",
    "unknown",
    "not known yet",
    "before the journal",
    "stopped",
)
"""What a journal knows about a time."""

HOUR_MS = 60 * 60 * 1_000


class TopicEvidenceRows(NamedTuple):
    """Rows about a topic, for the question why it had no route."""

    tables: Mapping[str, Sequence[Row]]
    """Name of a table -> rows about the topic."""
    knows_up_to: Mapping[str, int]
    """Name server -> wall ms of its last record."""


class RouteRows(NamedTuple):
    """What a name server held of a topic at an instant."""

    namesrv: str
    knowledge: str
    knows_up_to: int
    tables: Mapping[str, Sequence[Row]]
    """Name of a table -> rows that were valid then; empty unless `knowledge` is known."""


def knowledge(spark: SparkSession, warehouse: Warehouse, at: int, namesrv: str | None = None) -> DataFrame:
    """What each name server's journal knows of an instant.

    Returns:
        namesrv, knowledge (known, unknown, not known yet, before the journal or stopped), knows_up_to.
    """
    tables = opened(warehouse)
    up_to = (
        _of_server(table(spark, tables, "name_server_session"), namesrv)
        .groupBy("namesrv")
        .agg(fn.max_by("knows_up_to", "boot").alias("knows_up_to"))
    )
    state = table(spark, tables, "name_server_timeline").where(_holds(at)).select("namesrv", "state")
    return up_to.join(state, "namesrv", how="left").select(
        "namesrv",
        fn.when(fn.lit(at) > fn.col("knows_up_to"), NOT_YET)
        .when(fn.col("state").isNull(), BEFORE)
        .when(fn.col("state") == "up", KNOWN)
        .otherwise(fn.col("state"))
        .alias("knowledge"),
        "knows_up_to",
    )


def route_at(
    spark: SparkSession, warehouse: Warehouse, topic: str, at: int, namesrv: str | None = None
) -> DataFrame:
    """The rows of a topic that each name server held at an instant; one of nulls where there were none.

    Returns:
        namesrv, knowledge, knows_up_to, broker_name, cluster, read_queue_nums, write_queue_nums, perm,
        topic_sys_flag, members, since (wall ms), from_cause, from_peer.
    """
    tables = opened(warehouse)
    known = knowledge(spark, tables, at, namesrv)
    groups = table(spark, tables, "broker_group_history").where(_holds(at))
    rows = table(spark, tables, "topic_route").where(_holds(at) & (fn.col("topic") == topic))
    held = rows.join(
        groups.select("namesrv", "broker_name", "cluster", "members"), ["namesrv", "broker_name"], how="left"
    )
    is_known = fn.col("knowledge") == KNOWN
    columns = (
        "broker_name",
        "cluster",
        "read_queue_nums",
        "write_queue_nums",
        "perm",
        "topic_sys_flag",
        "members",
    )
    return (
        known.join(held, "namesrv", how="left")
        .select(
            "namesrv",
            "knowledge",
            "knows_up_to",
            *(fn.when(is_known, fn.col(name)).alias(name) for name in columns),
            fn.when(is_known, fn.col("valid_from")).alias("since"),
            fn.when(is_known, fn.col("from_cause")).alias("from_cause"),
            fn.when(is_known, fn.col("from_peer")).alias("from_peer"),
        )
        .orderBy("namesrv", "broker_name")
    )


def route_rows(
    spark: SparkSession, warehouse: Warehouse, topic: str, at: int, namesrv: str | None = None
) -> list[RouteRows]:
    """The rows out of which the route of a topic at an instant is made, for each name server."""
    tables = opened(warehouse)
    held = {
        "topic_route": _collected(
            table(spark, tables, "topic_route").where(_holds(at) & (fn.col("topic") == topic))
        ),
        "topic_mapping_history": _collected(
            table(spark, tables, "topic_mapping_history").where(_holds(at) & (fn.col("topic") == topic))
        ),
        "kv_history": _collected(
            table(spark, tables, "kv_history").where(
                _holds(at) & (fn.col("namespace") == "ORDER_TOPIC_CONFIG") & (fn.col("key") == topic)
            )
        ),
        "config_history": _collected(table(spark, tables, "config_history").where(_holds(at))),
        "filter_server_history": _collected(table(spark, tables, "filter_server_history").where(_holds(at))),
    }
    names = sorted({row["broker_name"] for row in held["topic_route"]})
    groups = table(spark, tables, "broker_group_history").where(
        _holds(at) & fn.col("broker_name").isin(names)
    )
    held["broker_group_history"] = _collected(groups) if names else []
    return [
        RouteRows(
            row["namesrv"],
            row["knowledge"],
            row["knows_up_to"],
            _rows_of(held, row["namesrv"]) if row["knowledge"] == KNOWN else {},
        )
        for row in _collected(knowledge(spark, tables, at, namesrv).orderBy("namesrv"))
    ]


def why_rows(
    spark: SparkSession, warehouse: Warehouse, topic: str, at: int | None = None, namesrv: str | None = None
) -> TopicEvidenceRows:
    """The rows that show why a topic had no route.

    Args:
        spark: The session.
        warehouse: URI or tables.
        topic: The topic.
        at: Wall ms; None is the last instant that is known.
        namesrv: Only this name server.
    """
    tables = opened(warehouse)
    boots = _collected(_of_server(table(spark, tables, "name_server_session"), namesrv))
    newest = {row["namesrv"]: row for row in sorted(boots, key=lambda row: row["boot"])}
    knows_up_to = {name: row["knows_up_to"] for name, row in newest.items()}
    looked_at = max(knows_up_to.values(), default=0) if at is None else at
    since, until = _boots_around(boots, looked_at)
    of_topic = fn.col("topic") == topic
    sessions = table(spark, tables, "broker_session").where(
        (fn.coalesce("valid_to", fn.lit(looked_at)) >= since) & (fn.col("valid_from") <= until)
    )
    lookups = table(spark, tables, "unknown_topic_minute").where(
        of_topic & fn.col("minute").between(looked_at - HOUR_MS, looked_at)
    )
    found = {
        "name_server_timeline": table(spark, tables, "name_server_timeline"),
        "topic_route": table(spark, tables, "topic_route").where(of_topic),
        "broker_session": sessions,
        "unknown_topic_minute": lookups,
    }
    return TopicEvidenceRows(
        {name: _collected(_of_server(rows, namesrv)) for name, rows in found.items()}, knows_up_to
    )


def _holds(at: int) -> Column:
    return (fn.col("valid_from") <= at) & (fn.col("valid_to").isNull() | (fn.col("valid_to") > at))


def _of_server(rows: DataFrame, namesrv: str | None) -> DataFrame:
    return rows if namesrv is None else rows.where(fn.col("namesrv") == namesrv)


def _collected(rows: DataFrame) -> list[Row]:
    return [row.asDict(recursive=True) for row in rows.collect()]


def _rows_of(held: Mapping[str, Iterable[Row]], namesrv: str) -> dict[str, list[Row]]:
    return {name: [row for row in rows if row["namesrv"] == namesrv] for name, rows in held.items()}


def _boots_around(boots: Iterable[Row], at: int) -> tuple[int, int]:
    """From when to when rows matter: the boot at a time and the boot before it, over all name servers."""
    begins: dict[str, list[int]] = {}
    for row in sorted(boots, key=lambda row: row["boot"]):
        begins.setdefault(row["namesrv"], []).append(row["first_ts"])
    since, until = [at], [at]
    for some in begins.values():
        past = [begin for begin in some if begin <= at]
        since += past[-2:]
        until.append(next((begin for begin in some if begin > at), FOREVER))
    return min(since), max(until)
