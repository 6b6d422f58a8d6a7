"""Answers from the daily tables.

Days are those of the warehouse's time zone, written as 2026-03-01; the first and the last are included, and
None is the first or the last day in the tables. A label limits an answer to the clusters of name servers that
have it. Rows are in the order in which people read them.
"""

from namekeeper.pipeline.answers.queries import Answer, AnswerTables

__all__ = [
    "Days",
    "availability",
    "capacity",
    "changes",
    "drift",
    "flaps",
    "incidents",
    "topic_availability",
    "unknown_topics",
]

Days = tuple[str | None, str | None]
"""The first and the last day."""

ALL_DAYS: Days = (None, None)


def availability(
    tables: AnswerTables, days: Days = ALL_DAYS, *, label: str | None = None, limit: int | None = None
) -> Answer:
    """Availability of each broker, as a share of the known time.

    Returns:
        cluster, broker_name, broker_id, up_ms, down_ms, unknown_ms, outages, longest_outage_ms,
        unregistered_ms (it had unregistered: neither up nor down), availability, uncertain_ms (part of up_ms
        and down_ms that may belong to the other), cluster_label.
    """
    return tables.ask("availability", _bounds(days, label), limit=limit)


def topic_availability(
    tables: AnswerTables,
    days: Days = ALL_DAYS,
    *,
    least_ms: int = 0,
    label: str | None = None,
    limit: int | None = None,
) -> Answer:
    """Time in which each topic could be written to.

    Args:
        tables: The warehouse.
        days: The first and the last day.
        least_ms: Only topics that could not be written to for at least this long.
        label: Of clusters of name servers; None: all.
        limit: Rows at most.

    Returns:
        cluster, topic, writable_ms, unwritable_ms, no_route_ms, unknown_ms; worst_ms: how long it could not
        be written to at the worst name server of each day; worst_namesrv: that of the worst day. Both are
        None where an earlier version made the rows. uncertain_ms: part of the first three that may belong to
        another of them. cluster_label.
    """
    return tables.ask("topic_availability", {**_bounds(days, label), "least_ms": least_ms}, limit=limit)


def flaps(
    tables: AnswerTables, days: Days = ALL_DAYS, *, label: str | None = None, limit: int | None = None
) -> Answer:
    """The hours in which brokers went down most often."""
    return tables.ask("flaps", _bounds(days, label), limit=limit)


def drift(
    tables: AnswerTables, days: Days = ALL_DAYS, *, label: str | None = None, limit: int | None = None
) -> Answer:
    """Disagreements of name servers about brokers and topics that ended on these days.

    Returns:
        cluster, broker_name, broker_id, broker_addr, topic (None: about the broker), held_by and missing_at
        (name servers, if it is about a broker), views (what each held), valid_from, valid_to, is_open,
        from_window_ms and to_window_ms (it began and ended up to so long before; None: exact), cluster_label.
    """
    found = tables.ask("drift", _bounds(days, label), limit=limit)
    rows = [
        row
        if row["views"] is not None
        else {
            **row,
            "views": sorted(
                [
                    *(f"{name}: there" for name in row["held_by"] or ()),
                    *(f"{name}: missing" for name in row["missing_at"] or ()),
                ]
            ),
        }
        for row in found.rows
    ]
    return found._replace(rows=rows)


def incidents(
    tables: AnswerTables, days: Days = ALL_DAYS, *, label: str | None = None, limit: int | None = None
) -> Answer:
    """Incidents of these days and their cost, the worst first.

    Returns:
        The columns of the table `incident`, and lasted_ms: up to now, if it is still open.
    """
    return tables.ask("incidents", {**_bounds(days, label), "zone": tables.report_time_zone}, limit=limit)


def capacity(
    tables: AnswerTables, days: Days = ALL_DAYS, *, label: str | None = None, limit: int | None = None
) -> Answer:
    """Topics and queues of each broker name on each day, at the name server that held most."""
    return tables.ask("capacity", _bounds(days, label), limit=limit)


def changes(
    tables: AnswerTables,
    days: Days = ALL_DAYS,
    *,
    topic: str | None = None,
    label: str | None = None,
    limit: int | None = None,
) -> Answer:
    """The changes and their peers, newest first.

    Args:
        tables: The warehouse.
        days: The first and the last day.
        topic: Only changes that concern this topic alone.
        label: Of clusters of name servers; None: all.
        limit: Rows at most.
    """
    return tables.ask("changes", {**_bounds(days, label), "topic": topic}, limit=limit)


def unknown_topics(
    tables: AnswerTables, days: Days = ALL_DAYS, *, label: str | None = None, limit: int | None = None
) -> Answer:
    """Topics without a route that clients looked up, the most wanted first.

    Returns:
        topic, bucket, lookups, name_servers, languages, first_minute, last_minute.
    """
    return tables.ask("unknown_topics", _bounds(days, label), limit=limit)


def _bounds(days: Days, label: str | None) -> dict[str, str | None]:
    return {"first_day": days[0], "last_day": days[1], "label": label}
