"""Incidents: what went wrong, from when to when, why, and what it cost; the worst first."""

from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import duration_column
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_count, shown_time
from namekeeper.pipeline.report.values import SHOWN, Answers, ReportColumn, Row, Section

__all__ = ["INCIDENTS"]

_COLUMNS = (
    ReportColumn("from_ts", "from", shown_time),
    ReportColumn("to_ts", "to", lambda value, zone: shown_time(value, zone) or "still open"),
    duration_column("lasted_ms", "for"),
    ReportColumn("cluster", "cluster"),
    ReportColumn("what", "what"),
    ReportColumn("why", "why"),
    ReportColumn("topics", "topics", is_number=True),
    ReportColumn("lookups", "asked in vain", is_number=True),
    ReportColumn("clients", "clients"),
)

_CAUSES = {
    "expired": "silent for too long",
    "channel_closed": "its connection was closed",
    "unregister_broker": "it unregistered",
    "replaced": "another broker took its place",
    "stale_registration": "an older registration was refused",
    "wipe_write_perm": "wipeWritePerm",
    "stopped": "it was stopped",
    "no_stop": "it ended without being stopped",
}
"""Cause -> words."""


def _incidents(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.incidents(about.tables, about.days, limit=limit)


def _make(answers: Answers) -> Section:
    found, total = answers["incidents"]
    rows = [
        {**row, "what": _what(row), "why": _why(row), "clients": ", ".join(row["languages"])} for row in found
    ]
    summary = [f"{shown_count(total, 'incident')}; what cost most comes first."]
    if not total:
        summary = ["Nothing went wrong, as far as is known."]
    return Section("incidents", "Incidents", summary, _COLUMNS, rows, total)


def _what(row: Row) -> str:
    """What happened, and to whom."""
    names = _some(row["broker_names"])
    more = f" ({row['brokers']} brokers)" if row["brokers"] > 1 else ""
    others = f" and {row['topics'] - 1} more" if row["topics"] > 1 else ""
    return {
        "broker_away": f"{names} away{more}",
        "mass_disconnect": f"{row['brokers']} brokers went together: {names}",
        "broker_unregistered": f"{names} unregistered{more}",
        "permission_wiped": f"permission to write to {names} wiped",
        "drift": f"name servers disagreed about {names}",
        "name_server_down": f"name server {row['subject']} down",
        "topic_unwritable": f"{row['first_topic']}{others} could not be written to",
    }[row["kind"]]


def _why(row: Row) -> str:
    cause = _CAUSES.get(row["cause"], row["cause"]) or ""
    return f"{cause}, asked by {row['peer']}" if row["peer"] else cause


def _some(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"


INCIDENTS = SectionSpec("incidents", {"incidents": Question(_incidents, SHOWN)}, _make)
