"""The entry views: their columns, and their SQL, which both Spark and DuckDB understand.

Their times are timestamps with milliseconds, their days are dates in the time zone of the warehouse, and a
`cluster_label` is never null, so that views join with `=`. The queries are files in `entry/sql`. Their only
parameter is `:zone`, the time zone of the warehouse.
"""

from collections.abc import Mapping
from importlib.resources import files

from namekeeper.pipeline.entry.readable import READABLE_VIEWS, sql_of_readable
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.row_columns import row_columns, with_columns
from namekeeper.pipeline.table import Column, Table, columns

__all__ = ["ENTRY_VIEWS", "VIEWS", "sql_of_view"]


def _of(table: str, *names: str) -> tuple[Column, ...]:
    """Columns that a view has as they are in a gold table."""
    described = {column.name: column for column in GOLD[table].columns}
    return tuple(described[name] for name in names)


_LABEL = Column("cluster_label", "string", "Label of the cluster of name servers; empty: none.")
_CLUSTER = (_LABEL, *_of("broker_state_daily", "cluster"))
_BROKER = (*_CLUSTER, *_of("broker_state_daily", "broker_name", "broker_id"))
_DAY = Column("day", "date", "Day in the warehouse's time zone.")
_SEEN_DAYS = columns(
    "first_day date: First day on which it was expected.",
    "last_day date: Last day on which it was expected.",
)

_VIEWS = (
    Table(
        "availability",
        "How long each broker was up, down and unknown on each day.",
        "a broker and day",
        ("day", "cluster_label", "cluster", "broker_name", "broker_id"),
        (
            _DAY,
            *_BROKER,
            *_of(
                "broker_availability_daily",
                "up_ms", "down_ms", "unknown_ms", "outages", "longest_outage_ms",
            ),
            *columns("up_share double: up_ms as a share of up_ms and down_ms; null: both are 0."),
        ),
    ),
    Table(
        "incidents",
        "The failures, with an id, their causes and their cost; see incident.",
        "an incident",
        ("incident_id",),
        (
            *columns(
                "incident_id string: 16 hexadecimal digits, made of the key of incident. It is the same in"
                " every run that finds the same key. An incident whose key changes, as in the 30 s after it"
                " began, gets another one. Notifications have other ids."
            ),
            *_of("incident", "kind"),
            _LABEL,
            *_of("incident", "cluster", "subject"),
            *columns(
                "day date: Day on which it began, in the warehouse's time zone.",
                "began_at timestamp: When it began.",
                "ended_at timestamp: When all of it had ended; null: it had not, as far as is known.",
            ),
            *_of("incident", "is_open"),
            *columns(
                "lasted_ms bigint: Time from its start to its end, or to the last time that is known."
            ),
            *_of(
                "incident",
                "cause", "peer", "closed_by", "brokers", "broker_names", "topics", "first_topic", "topic_ms",
                "name_servers", "lookups", "languages", "is_forgotten",
            ),
            *columns(
                "from_window_ms bigint: It began up to this long before began_at: an observer recorded that;"
                " null: exact.",
                "to_window_ms bigint: It ended up to this long before ended_at; null: exact, or it is open.",
            ),
        ),
    ),
    Table(
        "routes_at",
        "The topic rows of each name server with the time in which they are known to hold. Those at an"
        " instant have held_from <= instant and instant < held_until.",
        "a value of a topic row and the time during which it held",
        ("namesrv", "broker_name", "topic", "held_from"),
        (
            *_of("topic_route", "namesrv"),
            *row_columns("topic_row", "key"),
            *row_columns("topic_row", "value"),
            *columns(
                "held_from timestamp: From when on.",
                "held_until timestamp: Until when, not included; of an open row just after the last record of"
                " the name server.",
                "is_open boolean: Whether it still holds, as far as is known.",
                "ended_on date: Day of its end in the warehouse's time zone; null: it is open.",
            ),
            *_of("topic_route", "from_cause", "from_peer", "ended_by", "to_cause", "to_peer"),
        ),
    ),
    Table(
        "dim_day",
        "The days from the first record to the last one, with their length: days of 23 and 25 hours exist.",
        "a day",
        ("day",),
        (
            _DAY,
            *columns(
                "starts_at timestamp: Its start.",
                "ends_at timestamp: Its end, not included.",
                "length_ms bigint: Its length.",
                "from_ts bigint: Its start, to compare with times of the tables.",
                "to_ts bigint: Its end, not included.",
            ),
        ),
    ),
    Table(
        "day_status",
        "Up to when the journal of each name server is known, and which days are final. A day is final for"
        " all where each of its rows is. Segments that are shipped late can still change it.",
        "a day and a name server that had begun by its end",
        ("day", "namesrv"),
        (
            _DAY,
            *columns(
                "namesrv string: Name server.",
                "knows_up_to timestamp: Time of its last record: later than this nothing is known yet.",
                "is_final boolean: Whether this is at the end of the day or later. It stays false for the"
                " days after a name server was removed.",
                "unknown_ms bigint: Time of this day in which its state is unknown: records were lost.",
            ),
        ),
    ),
    Table(
        "dim_cluster",
        "The clusters.",
        "a cluster",
        ("cluster_label", "cluster"),
        (*_CLUSTER, *columns("broker_names array<string>: Its broker names, sorted."), *_SEEN_DAYS),
    ),
    Table(
        "dim_broker",
        "The brokers, with their last state.",
        "a broker",
        ("cluster_label", "cluster", "broker_name", "broker_id"),
        (
            *_BROKER,
            *_SEEN_DAYS,
            *columns(
                "last_state string: up, down, unregistered or unknown, at the end of what is known of it.",
                "last_state_since timestamp: When this state began; at most 7 days before last_day began.",
            ),
        ),
    ),
    Table(
        "dim_topic",
        "The topics of each cluster.",
        "a topic of a cluster",
        ("cluster_label", "cluster", "topic"),
        (*_CLUSTER, *_of("topic_availability_daily", "topic"), *_SEEN_DAYS),
    ),
)  # fmt: skip

ENTRY_VIEWS: Mapping[str, Table] = {view.name: view for view in _VIEWS}
"""Name -> an entry view; one that reads another stands behind it."""

VIEWS: Mapping[str, Table] = {**ENTRY_VIEWS, **READABLE_VIEWS}
"""Name -> an entry view or a readable view."""


def sql_of_view(name: str) -> str:
    """The query of an entry or readable view, for Spark; an entry view may have the parameter `:zone`."""
    if name in READABLE_VIEWS:
        return sql_of_readable(name)
    path = files("namekeeper.pipeline.entry") / "sql" / f"{name}.sql"
    return with_columns(path.read_text(encoding="utf-8"))
