"""Columns and words that several sections of the report share."""

from collections.abc import Sequence

from namekeeper.pipeline.report.times import shown_milliseconds
from namekeeper.pipeline.report.values import ReportColumn, Row

__all__ = [
    "BROKER",
    "CAUSES",
    "CLUSTER",
    "LABEL",
    "UNCERTAIN",
    "broker_of",
    "cluster_of",
    "count_column",
    "duration_column",
    "some_of",
    "window_column",
]

CLUSTER = ReportColumn("cluster", "cluster")
LABEL = ReportColumn("cluster_label", "label", lambda value, _zone: value or "")
"""The label of the cluster of name servers: left out where none has one."""
BROKER = ReportColumn("broker", "broker", is_subject=True)

CAUSES = {
    "register_broker": "broker registered",
    "register_topic": "topic registered by hand",
    "unregister_broker": "broker unregistered",
    "heartbeat": "broker sent a heartbeat",
    "expired": "broker silent for too long",
    "restored": "taken over from the journal at a start",
    "observed": "seen by an observer, cause not known",
    "channel_closed": "connection of the broker closed",
    "replaced": "another broker took its place",
    "stale_registration": "older registration refused",
    "wipe_write_perm": "write permission wiped",
    "add_write_perm": "write permission added",
    "delete_topic": "topic deleted",
    "put_kv_config": "KV entry set",
    "delete_kv_config": "KV entry deleted",
    "update_namesrv_config": "configuration changed",
    "started": "name server started",
    "stopped": "name server stopped",
    "clock_changed": "clock of the name server set",
    "no_stop": "name server ended without a stop",
}
"""Cause of a change, or event of a name server -> text."""

UNCERTAIN = "Uncertain time lies within windows of observed name servers: it may belong to the next state."
"""The meaning of a column of uncertain time, for people."""

_NAMED = 3
"""Most names in a sentence."""


def duration_column(name: str, title: str) -> ReportColumn:
    """A column of durations in ms."""
    return ReportColumn(name, title, lambda value, _zone: shown_milliseconds(value), is_number=True)


def window_column(name: str, title: str) -> ReportColumn:
    """A column of windows in ms: empty where times are exact, so that it is left out if all are."""
    return ReportColumn(
        name, title, lambda value, _zone: shown_milliseconds(value) if value else "", is_number=True
    )


def count_column(name: str, title: str) -> ReportColumn:
    """A column that is aligned as numbers are."""
    return ReportColumn(name, title, is_number=True)


def broker_of(row: Row) -> str:
    """A broker: its name, and its id."""
    return f"{row['broker_name']} ({row['broker_id']})"


def cluster_of(row: Row) -> str:
    """A cluster: its name, and its label if it has one."""
    label = f" ({row['cluster_label']})" if row["cluster_label"] else ""
    return f"{row['cluster']}{label}"


def some_of(names: Sequence[str]) -> str:
    """Names in a sentence: all, or the first and how many more."""
    if len(names) <= _NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _NAMED - 1])} and {len(names) - _NAMED + 1:,} more"
