"""Answers out of the tables that sum up days: functions that take a SparkSession and return a DataFrame.

Days are those of the warehouse's time zone, as 2026-03-01; the first and the last are included, and None is
the first or the last that there is. Rows come in the order in which people want to read them.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from namekeeper.pipeline.answers.warehouse import Warehouse, opened, table

__all__ = [
    "availability",
    "capacity",
    "changes",
    "drift",
    "flaps",
    "topic_availability",
    "unknown_topics",
]


def availability(
    spark: SparkSession, warehouse: Warehouse, first_day: str | None = None, last_day: str | None = None
) -> DataFrame:
    """Availability of each broker, as a share of the time of which something is known.

    Returns:
        cluster, broker_name, broker_id, up_ms, down_ms, unknown_ms, outages, longest_outage_ms, availability.
    """
    sums = ("up_ms", "down_ms", "unknown_ms", "outages")
    known = fn.col("up_ms") + fn.col("down_ms")
    return (
        _days(spark, warehouse, "broker_availability_daily", first_day, last_day)
        .groupBy("cluster", "broker_name", "broker_id")
        .agg(
            *(fn.sum(name).alias(name) for name in sums),
            fn.max("longest_outage_ms").alias("longest_outage_ms"),
        )
        .withColumn("availability", fn.when(known > 0, fn.col("up_ms") / known))
        .orderBy(fn.col("availability").asc_nulls_last(), "cluster", "broker_name", "broker_id")
    )


def topic_availability(
    spark: SparkSession, warehouse: Warehouse, first_day: str | None = None, last_day: str | None = None
) -> DataFrame:
    """Time in which each topic could be written to, over days.

    Returns:
        cluster, topic, writable_ms, unwritable_ms, no_route_ms, unknown_ms.
    """
    sums = ("writable_ms", "unwritable_ms", "no_route_ms", "unknown_ms")
    return (
        _days(spark, warehouse, "topic_availability_daily", first_day, last_day)
        .groupBy("cluster", "topic")
        .agg(*(fn.sum(name).alias(name) for name in sums))
        .orderBy((fn.col("unwritable_ms") + fn.col("no_route_ms")).desc(), "cluster", "topic")
    )


def flaps(
    spark: SparkSession, warehouse: Warehouse, first_day: str | None = None, last_day: str | None = None
) -> DataFrame:
    """Hours in which brokers went most often."""
    rows = _days(spark, warehouse, "broker_flap", first_day, last_day)
    return rows.orderBy(fn.desc("outages"), fn.desc("sessions_ended"), "hour", "cluster", "broker_name")


def drift(
    spark: SparkSession, warehouse: Warehouse, first_day: str | None = None, last_day: str | None = None
) -> DataFrame:
    """When name servers disagreed, about brokers and about topics; ended on these days.

    Returns:
        cluster, broker_name, broker_id, topic (null: about the broker), views (what each held), valid_from,
        valid_to, is_open.
    """
    tables = opened(warehouse)
    there, missing = fn.lit(": there"), fn.lit(": missing")
    brokers = _between(table(spark, tables, "view_drift_broker"), "valid_to_day", first_day, last_day).select(
        "cluster",
        "broker_name",
        "broker_id",
        fn.lit(None).cast("string").alias("topic"),
        fn.array_sort(
            fn.concat(
                fn.transform("held_by", lambda name: fn.concat(name, there)),
                fn.transform("missing_at", lambda name: fn.concat(name, missing)),
            )
        ).alias("views"),
        "valid_from",
        "valid_to",
        "is_open",
    )
    topics = _between(table(spark, tables, "view_drift_topic"), "valid_to_day", first_day, last_day).select(
        "cluster",
        "broker_name",
        fn.lit(None).cast("bigint").alias("broker_id"),
        "topic",
        "views",
        "valid_from",
        "valid_to",
        "is_open",
    )
    return brokers.unionByName(topics).orderBy("valid_from", "cluster", "broker_name", "topic")


def capacity(
    spark: SparkSession, warehouse: Warehouse, first_day: str | None = None, last_day: str | None = None
) -> DataFrame:
    """What each broker name had on each day, as the name server that held most of it saw it."""
    largest = ("topics", "read_queues", "write_queues", "writable_topics", "body_bytes", "frame_used")
    return (
        _days(spark, warehouse, "capacity_daily", first_day, last_day)
        .groupBy("day", "cluster", "broker_name")
        .agg(*(fn.max(name).alias(name) for name in largest))
        .orderBy("day", "cluster", "broker_name")
    )


def changes(
    spark: SparkSession,
    warehouse: Warehouse,
    first_day: str | None = None,
    last_day: str | None = None,
    *,
    topic: str | None = None,
) -> DataFrame:
    """Who changed what, newest first.

    Args:
        spark: The session.
        warehouse: URI or tables.
        first_day: First day; None: the first there is.
        last_day: Last day; None: the last there is.
        topic: Only changes that concern this topic alone.
    """
    rows = _days(spark, warehouse, "change_log", first_day, last_day)
    if topic is not None:
        rows = rows.where(fn.col("topic") == topic)
    return rows.orderBy(fn.desc("at_ts"), "namesrv", fn.desc("boot"), fn.desc("seq"))


def unknown_topics(
    spark: SparkSession, warehouse: Warehouse, first_day: str | None = None, last_day: str | None = None
) -> DataFrame:
    """Topics that clients asked for in vain, the most asked for first.

    Returns:
        topic, bucket, lookups, name_servers, languages, first_minute, last_minute.
    """
    return (
        _days(spark, warehouse, "unknown_topic_daily", first_day, last_day)
        .groupBy("topic", "bucket")
        .agg(
            fn.sum("lookups").alias("lookups"),
            fn.count_distinct("namesrv").alias("name_servers"),
            fn.array_sort(fn.collect_set("language")).alias("languages"),
            fn.min("first_minute").alias("first_minute"),
            fn.max("last_minute").alias("last_minute"),
        )
        .orderBy(fn.desc("lookups"), "topic", "bucket")
    )


def _days(
    spark: SparkSession, warehouse: Warehouse, name: str, first_day: str | None, last_day: str | None
) -> DataFrame:
    return _between(table(spark, warehouse, name), "day", first_day, last_day)


def _between(rows: DataFrame, column: str, first_day: str | None, last_day: str | None) -> DataFrame:
    if first_day is not None:
        rows = rows.where(fn.col(column) >= first_day)
    if last_day is not None:
        rows = rows.where(fn.col(column) <= last_day)
    return rows
