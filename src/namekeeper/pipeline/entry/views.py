"""The entry views: their columns, and their SQL, which both Spark and DuckDB understand.

Their times are timestamps with milliseconds, their days are dates in the time zone of the warehouse, and a
`cluster_label` is never null, so that views join with `=`. The queries are files in `entry/sql`. Their only
parameter is `:zone`, the time zone of the warehouse.
"""

from collections.abc import Mapping
from importlib.resources import files

from namekeeper.pipeline.row_columns import row_columns, with_columns
from namekeeper.pipeline.table import Column, Table, columns

__all__ = ["ENTRY_VIEWS", "sql_of_view"]

_LABEL = Column("cluster_label", "string", "Label of the cluster of name servers; empty: none.")
_CLUSTER = (_LABEL, Column("cluster", "string", "Cluster name."))
_BROKER = (
    *_CLUSTER,
    Column("broker_name", "string", "Broker name."),
    Column("broker_id", "bigint", "0 for a master."),
)
_TOPIC = Column("topic", "string", "Topic.")
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
            *columns(
                "up_ms bigint: Time up.",
                "down_ms bigint: Time down.",
                "unknown_ms bigint: Time without a witness.",
                "outages bigint: Times down that began on this day.",
                "longest_outage_ms bigint: The longest time down within this day.",
                "up_share double: up_ms as a share of up_ms and down_ms; null: both are 0.",
            ),
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
            Column("kind", "string", "Kind of the failure, as in incident."),
            _LABEL,
            *columns(
                "cluster string: Cluster name; null if kind is name_server_down.",
                "subject string: The broker name, topic or name server; the first of several by name.",
                "day date: Day on which it began, in the warehouse's time zone.",
                "began_at timestamp: When it began.",
                "ended_at timestamp: When all of it had ended; null: it had not, as far as is known.",
                "is_open boolean: Whether it had not ended.",
                "lasted_ms bigint: Time from its start to its end, or to the last time that is known.",
                "cause string: Why, as in incident; null: not known.",
                "peer string: [user@]host:port that asked for it; null: nobody did.",
                "closed_by string: If cause is channel_closed, who closed the connection; null: not known.",
                "brokers bigint: How many brokers, or broker names.",
                "broker_names array<string>: Their names, sorted.",
                "topics bigint: How many topics could not be written to, or differ.",
                "first_topic string: The first of these by name; null: none.",
                "topic_ms bigint: Time in which topics could not be written to, added up over them; null: an"
                " earlier version made the row.",
                "name_servers array<string>: Name servers with the rows that broke, sorted.",
                "lookups bigint: Lookups of these topics that found no route meanwhile.",
                "languages array<string>: Languages of the clients that asked, sorted.",
                "is_forgotten boolean: Whether it ended because nobody expected the broker any more; null: an"
                " earlier version made the row.",
                "from_window_ms bigint: It began up to this long before began_at; null: exact.",
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
            Column("namesrv", "string", "Name server that had it."),
            *row_columns("topic_row", "key"),
            *row_columns("topic_row", "value"),
            *columns(
                "held_from timestamp: From when on.",
                "held_until timestamp: Until when, not included; of an open row just after the last record of"
                " the name server.",
                "is_open boolean: Whether it still holds, as far as is known.",
                "ended_on date: Day of its end in the warehouse's time zone; null: it is open.",
                "from_cause string: Request or rule that made it; null: a checkpoint found it so.",
                "from_peer string: [user@]host:port that asked; null: nobody, or a checkpoint found it so.",
                "ended_by string: How it ended, as in topic_route; null: it is open.",
                "to_cause string: Request or rule that ended it.",
                "to_peer string: [user@]host:port that asked for its end.",
            ),
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
        (*_CLUSTER, _TOPIC, *_SEEN_DAYS),
    ),
)  # fmt: skip

ENTRY_VIEWS: Mapping[str, Table] = {view.name: view for view in _VIEWS}
"""Name -> a view; one that reads another stands behind it."""


def sql_of_view(name: str) -> str:
    """The query of a view, for Spark, with the parameter `:zone`."""
    path = files("namekeeper.pipeline.entry") / "sql" / f"{name}.sql"
    return with_columns(path.read_text(encoding="utf-8"))
