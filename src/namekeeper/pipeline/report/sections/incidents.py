"""Incidents: failures with their time, cause and cost; the worst first."""

from collections.abc import Sequence

from namekeeper.common.counts import shown_count
from namekeeper.pipeline.answers import daily
from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.columns import CLUSTER, LABEL, count_column, some_of, window_column
from namekeeper.pipeline.report.plots import Bar, Kind, Lane, LanesPlot, bar_of, label_of
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.specification import Question, ReportTables, SectionSpec
from namekeeper.pipeline.report.times import shown_milliseconds, shown_time
from namekeeper.pipeline.report.values import (
    KEPT,
    Answers,
    Headline,
    ReportColumn,
    Row,
    Section,
    Severity,
)

__all__ = ["INCIDENTS"]

DRAWN = 12
"""Most incidents in the plot."""

_COLUMNS = (
    count_column("number", "no."),
    ReportColumn("what", "what"),
    ReportColumn("from_ts", "from", shown_time),
    window_column("from_window_ms", "or earlier by"),
    ReportColumn("until_ts", "to", shown_time),
    window_column("to_window_ms", "or earlier by"),
    ReportColumn("lasted", "for", is_number=True),
    ReportColumn("why", "why"),
    LABEL,
    CLUSTER,
    count_column("topics", "topics"),
    count_column("lookups", "asked in vain"),
    ReportColumn("clients", "clients"),
)
_MILD = frozenset({"drift", "broker_unregistered", "topic_deleted"})
"""Kinds without a cost in topics: somebody asked for it, or another name server had them."""
_WORDS = {
    Kind.DOWN: "away, or not to be written to",
    Kind.NOTICE: "unregistered or deleted, or name servers disagreed",
}
_LOOKUP_MS = 60_000
"""A lookup in vain weighs as much as a topic that can't be written to for a minute: a client asks twice."""

_CAUSES = {
    "expired": "silent for too long",
    "channel_closed": "connection closed",
    "unregister_broker": "unregistered",
    "replaced": "another broker took its place",
    "stale_registration": "an older registration was refused",
    "wipe_write_perm": "wipeWritePerm",
    "register_broker": "changed by its broker",
    "register_topic": "changed by registerTopic",
    "delete_topic": "topic deleted",
    "stopped": "stopped",
    "no_stop": "ended without being stopped",
    "broker_missing": "a broker was missing there",
    "topic_missing": "a topic was missing there",
    "permission_differs": "the permission to write was missing there",
    "queues_differ": "queues differed",
}
"""Cause -> text."""
_CLOSED_BY = {
    "peer": "closed by the broker",
    "reset": "reset",
    "idle": "closed by the name server, because it was idle",
    "limit": "closed by the name server, because of a limit",
    "protocol_error": "closed by the name server, because its bytes were no frame",
    "tls": "closed because TLS failed",
    "front": "closed because the native front failed",
    "server": "closed by the name server",
}
"""The end that closed the connection of a broker -> text."""
_ASKED = frozenset({"unregister_broker", "wipe_write_perm", "delete_topic", "register_topic"})
"""Causes that are requests of somebody; for the others the peer is the broker itself."""


def _incidents(about: ReportTables, _answers: Answers, limit: int) -> Answer:
    return daily.incidents(about.tables, about.days, label=about.label, limit=limit)


def _make(answers: Answers, _zone: str) -> Section:
    found, total = answers["incidents"]
    alike: dict[object, list[Row]] = {}
    for row in found:
        alike.setdefault(
            (row["kind"], row["cluster_label"], row["cluster"], _what(row), _why(row)), []
        ).append(row)
    groups = sorted((_group(rows) for rows in alike.values()), key=_cost)
    rows = [{**row, "number": number} for number, row in enumerate(groups, 1)]
    summary = [f"{shown_count(total, 'incident')}; what cost most comes first."]
    if len(rows) < len(found):
        summary.append("Incidents that are alike are one row.")
    if not total:
        summary = ["Nothing went wrong, as far as is known."]
    there_are = total - len(found) + len(rows)
    return Section("incidents", "Incidents", _headline(rows, total), summary, _COLUMNS, rows, there_are, rows)


def _group(rows: Sequence[Row]) -> Row:
    """Similar incidents as one row: the worst of them, with the cost of all."""
    in_order = sorted(rows, key=lambda row: row["from_ts"])
    times = [(row["from_ts"], row["from_ts"] + row["lasted_ms"]) for row in in_order]
    often = f", {len(rows):,} times" if len(rows) > 1 else ""
    lasted_ms = sum(row["lasted_ms"] for row in rows)
    is_open = any(row["is_open"] for row in rows)
    last = max(in_order, key=lambda row: row["from_ts"] + row["lasted_ms"])
    return {
        **rows[0],
        "what": f"{_what(rows[0])}{often}",
        "why": _why(rows[0]),
        "from_ts": times[0][0],
        "from_window_ms": in_order[0]["from_window_ms"],
        "until_ts": max(until for _, until in times),
        "to_window_ms": last["to_window_ms"],
        "lasted_ms": lasted_ms,
        "is_open": is_open,
        "lasted": f"{shown_milliseconds(lasted_ms)}{_ending(rows, is_open=is_open)}",
        "topics": max(row["topics"] for row in rows),
        "topic_ms": sum(_topic_ms(row) for row in rows),
        "lookups": sum(row["lookups"] for row in rows),
        "languages": (languages := sorted({each for row in rows for each in row["languages"]})),
        "clients": ", ".join(languages),
        "times": times,
    }


def _topic_ms(row: Row) -> int:
    """The time in which topics could not be written to; estimated for a row of an earlier version."""
    known: int | None = row["topic_ms"]
    return row["topics"] * row["lasted_ms"] if known is None else known


def _ending(rows: Sequence[Row], *, is_open: bool) -> str:
    """How it ended, unless what was missing came back."""
    if is_open:
        return " so far"
    return ", then not expected any more" if any(row["is_forgotten"] for row in rows) else ""


def _cost(row: Row) -> tuple[object, ...]:
    """Sort key by cost, as in the query: the worst first."""
    is_mild = row["kind"] in _MILD
    return (
        -row["lookups"] * _LOOKUP_MS - (0 if is_mild else row["topic_ms"]),
        0 if is_mild else -max(row["brokers"], 1) * row["lasted_ms"],
        row["kind"] == "broker_unregistered",
        -row["lasted_ms"],
        row["from_ts"],
    )


def _headline(rows: Sequence[Row], total: int) -> Headline:
    if not total:
        return Headline(Severity.GOOD, "No incidents")
    is_open = sum(bool(row["is_open"]) for row in rows)
    severity = Severity.NOTICE if all(row["kind"] in _MILD for row in rows) else Severity.BAD
    still = f", {is_open:,} not over" if is_open else ""
    return Headline(severity, f"{shown_count(total, 'incident')}{still}")


def _draw(section: Section, scale: TimeScale) -> LanesPlot:
    """The first incidents, in the order of the table."""
    drawn = section.plot[:DRAWN]
    lanes = []
    for row in drawn:
        name = f"{row['number']}. {row['what']}"
        lanes.append(Lane(label_of(name), name, _bars(row, scale)))
    kinds = {lane.bars[0].kind for lane in lanes}
    which = "they" if len(drawn) == len(section.plot) else f"those of the first {len(drawn)} rows"
    text = f"When {which} were, in the order of the table."
    return LanesPlot(text, [(kind, words) for kind, words in _WORDS.items() if kind in kinds], lanes)


def _bars(row: Row, scale: TimeScale) -> list[Bar]:
    kind = Kind.NOTICE if row["kind"] in _MILD else Kind.DOWN
    return [bar_of(scale, times, kind, row["what"]) for times in row["times"]]


def _what(row: Row) -> str:
    """The kind of incident, and its subject."""
    names = some_of(row["broker_names"])
    is_told = row["brokers"] == len(row["broker_names"])
    more = "" if is_told or row["brokers"] < 2 else f" ({row['brokers']} brokers)"
    of_names = "" if is_told else f" of {shown_count(len(row['broker_names']), 'name')}"
    others = f" and {row['topics'] - 1} more" if row["topics"] > 1 else ""
    differed = f": {some_of(row['name_servers'])} differed" if row["name_servers"] else ""
    return {
        "broker_away": f"{names} away{more}",
        "mass_disconnect": f"{row['brokers']} brokers{of_names} went together: {names}",
        "broker_unregistered": f"{names} unregistered{more}",
        "permission_wiped": f"permission to write to {names} wiped",
        "drift": f"name servers disagreed about {names}{differed}",
        "name_server_down": f"name server {row['subject']} down",
        "topic_unwritable": f"{row['first_topic']}{others} could not be written to",
        "topic_deleted": f"{row['first_topic']}{others} deleted, and clients went on asking for "
        + ("them" if others else "it"),
    }[row["kind"]]


def _why(row: Row) -> str:
    cause = _CAUSES.get(row["cause"], row["cause"]) or ""
    if row["closed_by"]:
        cause = f"connection {_CLOSED_BY.get(row['closed_by'], row['closed_by'])}"
    if row["kind"] == "topic_unwritable" and row["cause"] == "register_broker":
        cause = f"{cause} {some_of(row['broker_names'])}"
    return f"{cause}, asked by {row['peer']}" if row["peer"] and row["cause"] in _ASKED else cause


INCIDENTS = SectionSpec("incidents", {"incidents": Question(_incidents, KEPT)}, _make, _draw)
