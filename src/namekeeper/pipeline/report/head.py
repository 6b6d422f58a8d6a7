"""The head of a report: its time, its headlines, and up to when each name server is known."""

from collections.abc import Sequence
from typing import NamedTuple

from namekeeper.common.counts import shown_count
from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.report.columns import count_column, duration_column
from namekeeper.pipeline.report.times import shown_local, shown_time
from namekeeper.pipeline.report.values import Headline, Report, ReportColumn, Severity

__all__ = ["NAME_SERVERS", "NAME_SERVER_COLUMNS", "Link", "headlines", "shown_period"]

NAME_SERVERS = "name-servers"
"""Anchor of the table of name servers."""

_ENDS = {
    "running": "still running",
    "stopped": "stopped",
    "crashed": "ended without a stop",
    "not observed": "not observed any more",
}

NAME_SERVER_COLUMNS = (
    ReportColumn("namesrv", "name server"),
    ReportColumn("knows_up_to", "known up to", shown_time),
    ReportColumn("ended_by", "then", lambda value, _zone: _ENDS.get(value, str(value))),
    count_column("boots", "boots"),
    count_column("losses", "holes in its records"),
    duration_column("unknown_ms", "unknown"),
)


class Link(NamedTuple):
    """A headline, and the name of the section that says more."""

    section: str
    headline: Headline


def shown_period(report: Report) -> str:
    """Begin, end and length of the report's time."""
    if report.period is None:
        return "Nothing is known of this time."
    first, last = (shown_local(ms, report.zone) for ms in report.period)
    duration = shown_duration(report.period.last_ms - report.period.first_ms)
    return f"{first} to {last} ({duration}), times in {report.zone}"


def headlines(report: Report) -> Sequence[Link]:
    """The headlines of the sections in order, and that about the records; empty if nothing is known."""
    if report.period is None:
        return []
    found = [Link(each.name, each.headline) for each in report.sections if each.headline is not None]
    return [*found, Link(NAME_SERVERS, _of_records(report))]


def _of_records(report: Report) -> Headline:
    servers = shown_count(len(report.name_servers), "name server")
    losses = sum(server["losses"] for server in report.name_servers)
    unknown = sum(server["unknown_ms"] for server in report.name_servers)
    if not losses and not unknown:
        return Headline(Severity.GOOD, f"{servers}, nothing is missing in the records")
    holes = f", {shown_count(losses, 'hole')} in the records" if losses else ""
    return Headline(Severity.NOTICE, f"{servers}{holes}, {shown_duration(unknown)} unknown in all")
