"""A report on a warehouse, as a value: what each section says, and the series of its plots.

`report_text` and `report_html` show it; JSON is the value itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from namekeeper.pipeline.report_times import shown_duration, shown_share, shown_time

__all__ = ["AT_MOST", "LANES", "SECTIONS", "SHOWN", "Column", "Report", "Row", "Section", "make_report"]

Row = Mapping[str, Any]
Rows = Mapping[str, Sequence[Row]]
"""What was asked for -> rows; see `report_query`."""

SHOWN = 200
"""Rows of a section that are shown at most; the tables have all."""
AT_MOST = 20_000
"""Rows that are asked for at most."""
LANES = 40
"""Brokers, or things that name servers disagree about, that a plot has room for."""


class Column(NamedTuple):
    """A column of a section's table."""

    name: str
    title: str
    show: Callable[[Any, str], str] = lambda value, _zone: "" if value is None else str(value)
    """Value and time zone to text."""
    is_number: bool = False


class Section(NamedTuple):
    """A section: some sentences, a table, and what its plot shows."""

    name: str
    title: str
    summary: Sequence[str]
    columns: Sequence[Column]
    rows: Sequence[Row]
    total: int
    """Rows there are; of these the first ones are in `rows`."""
    plot: Sequence[Row] = ()


class Report(NamedTuple):
    """A report."""

    zone: str
    days: tuple[str, str] | None
    """The first and the last day of which something is known; None: there is nothing."""
    name_servers: Sequence[Row]
    """Up to when each is known, and how much of it is unknown."""
    sections: Sequence[Section]


def make_report(
    zone: str,
    sections: Iterable[str],
    rows: Rows,
    wanted: tuple[str | None, str | None] = (None, None),
) -> Report:
    """The report that rows make.

    Args:
        zone: Time zone of the days.
        sections: Names of what is wanted.
        rows: What `report_query` asks for.
        wanted: The first and the last day that were asked for, None: all there are.
    """
    lives = rows.get("lives", ())
    instants = [instant for life in lives for instant in (life["first_ts"], life["knows_up_to"])]
    days = None
    if instants:
        first, last = wanted
        days = (first or shown_time(min(instants), zone)[:10], last or shown_time(max(instants), zone)[:10])
    return Report(zone, days, _name_servers(lives), [_MAKERS[name](rows) for name in sections])


def _name_servers(lives: Sequence[Row]) -> list[Row]:
    found: list[Row] = []
    for name in sorted({life["namesrv"] for life in lives}):
        own = sorted((life for life in lives if life["namesrv"] == name), key=lambda life: life["boot"])
        found.append(
            {
                "namesrv": name,
                "boots": len(own),
                "knows_up_to": own[-1]["knows_up_to"],
                "ended_by": own[-1]["ended_by"],
                "losses": sum(life["losses"] for life in own),
                "unknown_ms": sum(life["unknown_ms"] for life in own),
            }
        )
    return found


def _availability(rows: Rows) -> Section:
    brokers = rows["availability"]
    outages = sum(row["outages"] for row in brokers)
    worst = [row for row in brokers if row["availability"] is not None and row["down_ms"]]
    summary = [f"{_count(brokers)} brokers, {outages} outages."]
    if worst:
        summary.append(
            f"The least available was {_broker(worst[0])}: {shown_share(worst[0]['availability'])},"
            f" {shown_duration(worst[0]['down_ms'])} down."
        )
    summary.append("Time in which no name server could tell is unknown: neither up nor down.")
    columns = (
        *_BROKER_COLUMNS,
        Column("availability", "available", lambda value, _: shown_share(value), is_number=True),
        Column("up_ms", "up", lambda value, _: shown_duration(value), is_number=True),
        Column("down_ms", "down", lambda value, _: shown_duration(value), is_number=True),
        Column("unknown_ms", "unknown", lambda value, _: shown_duration(value), is_number=True),
        Column("outages", "outages", is_number=True),
        Column("longest_outage_ms", "longest", lambda value, _: shown_duration(value), is_number=True),
    )
    title = "Availability of brokers"
    return Section("availability", title, summary, columns, brokers[:SHOWN], len(brokers), rows["states"])


def _topics(rows: Rows) -> Section:
    topics = rows["topics"]
    columns = (
        Column("cluster", "cluster"),
        Column("topic", "topic"),
        Column("writable_ms", "writable", lambda value, _: shown_duration(value), is_number=True),
        Column("unwritable_ms", "not writable", lambda value, _: shown_duration(value), is_number=True),
        Column("no_route_ms", "no route", lambda value, _: shown_duration(value), is_number=True),
        Column("unknown_ms", "unknown", lambda value, _: shown_duration(value), is_number=True),
    )
    summary = [f"{_count(topics, SHOWN)} topics could not be written to for some time."]
    return Section("topics", "Topics without a writable queue", summary, columns, topics, len(topics))


def _flaps(rows: Rows) -> Section:
    hours = rows["flaps"]
    columns = (
        Column("hour", "hour", shown_time),
        *_BROKER_COLUMNS,
        Column("outages", "outages", is_number=True),
        Column("sessions_ended", "sessions ended", is_number=True),
    )
    brokers = {(row["cluster"], row["broker_name"], row["broker_id"]) for row in hours}
    summary = [
        f"{len(brokers)} brokers went in {_count(hours)} hours; sessions are counted over all name servers."
    ]
    return Section("flaps", "Brokers that come and go", summary, columns, hours[:SHOWN], len(hours), hours)


def _drift(rows: Rows) -> Section:
    found = rows["drift"]
    longest = max(found, key=lambda row: row["valid_to"] - row["valid_from"], default=None)
    summary = [f"{_count(found)} differences of 5 seconds or more between name servers."]
    if longest is not None:
        span = shown_duration(longest["valid_to"] - longest["valid_from"])
        summary.append(f"The longest, about {_subject(longest)}, held for {span}.")
    listed = [
        {
            **row,
            "ms": row["valid_to"] - row["valid_from"],
            "subject": _subject(row),
            "held": "; ".join(row["views"]),
        }
        for row in found
    ]
    columns = (
        Column("valid_from", "from", shown_time),
        Column("valid_to", "to", shown_time),
        Column("ms", "for", lambda value, _: shown_duration(value), is_number=True),
        Column("is_open", "open", lambda value, _: "yes" if value else ""),
        Column("cluster", "cluster"),
        Column("subject", "about"),
        Column("held", "what each held"),
    )
    return Section(
        "drift", "Differences between name servers", summary, columns, listed[:SHOWN], len(found), listed
    )


def _capacity(rows: Rows) -> Section:
    newest = rows["capacity"]
    summary = ["Nothing is known."]
    if newest:
        topics = sum(row["topics"] for row in newest)
        queues = sum(row["write_queues"] for row in newest)
        day, names = newest[0]["day"], len(newest)
        summary = [f"{topics} topic rows and {queues} queues to write to on {names} broker names on {day}."]
    largest = max((row["frame_used"] or 0 for row in newest), default=0)
    if largest:
        summary.append(f"The largest registration fills {shown_share(largest)} of a frame of 16 MiB.")
    columns = (
        Column("cluster", "cluster"),
        Column("broker_name", "broker name"),
        Column("topics", "topics", is_number=True),
        Column("read_queues", "read queues", is_number=True),
        Column("write_queues", "write queues", is_number=True),
        Column("body_bytes", "registration bytes", is_number=True),
        Column("frame_used", "of a frame", lambda value, _: shown_share(value), is_number=True),
    )
    plot = rows["capacity_by_day"]
    return Section("capacity", "Capacity", summary, columns, newest[:SHOWN], len(newest), plot)


def _changes(rows: Rows) -> Section:
    found, by_hour = rows["changes"], rows["changes_by_hour"]
    columns = (
        Column("at_ts", "when", shown_time),
        Column("namesrv", "name server"),
        Column("cause", "cause"),
        Column("peer", "asked by"),
        Column("kind", "what"),
        Column("action", "how"),
        Column("items", "rows", is_number=True),
        Column("broker_name", "broker name"),
        Column("topic", "topic"),
        Column("detail", "detail"),
    )
    total = sum(row["items"] for row in by_hour)
    summary = [f"{total} rows were changed; the newest {len(found)} records are listed."]
    return Section("changes", "Changes", summary, columns, found[:SHOWN], total, by_hour)


def _unknown_topics(rows: Rows) -> Section:
    found = rows["unknown_topics"]
    listed = [
        {**row, "name": row["topic"] if row["topic"] is not None else f"({row['bucket']})",
         "clients": ", ".join(row["languages"] or ())}
        for row in found
    ]  # fmt: skip
    columns = (
        Column("name", "topic"),
        Column("lookups", "asked for", is_number=True),
        Column("name_servers", "name servers", is_number=True),
        Column("clients", "clients"),
        Column("first_minute", "first", shown_time),
        Column("last_minute", "last", shown_time),
    )
    summary = [f"Clients asked {sum(row['lookups'] for row in found)} times for topics that had no route."]
    title = "Topics without a route that were asked for"
    return Section("unknown-topics", title, summary, columns, listed[:SHOWN], len(found), listed)


def _count(rows: Sequence[Row], limit: int = AT_MOST) -> str:
    """How many rows there are, as far as they were asked for."""
    return f"at least {limit}" if len(rows) >= limit else str(len(rows))


def _broker(row: Row) -> str:
    return f"{row['broker_name']} ({row['broker_id']}) of {row['cluster']}"


def _subject(row: Row) -> str:
    if row["topic"] is not None:
        return f"{row['topic']} on {row['broker_name']}"
    return f"broker {row['broker_name']} ({row['broker_id']})"


_BROKER_COLUMNS = (
    Column("cluster", "cluster"),
    Column("broker_name", "broker name"),
    Column("broker_id", "id", is_number=True),
)
_MAKERS: Mapping[str, Callable[[Rows], Section]] = {
    "availability": _availability,
    "topics": _topics,
    "flaps": _flaps,
    "drift": _drift,
    "capacity": _capacity,
    "changes": _changes,
    "unknown-topics": _unknown_topics,
}
SECTIONS: tuple[str, ...] = tuple(_MAKERS)
"""Names of the sections, in order."""
