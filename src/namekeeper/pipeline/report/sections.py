"""A report on a warehouse, as a value: what each section says, and the series of its plots.

`text` and `html` show it; JSON is the value itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from namekeeper.common.durations import shown_duration
from namekeeper.pipeline.report.times import shown_count, shown_milliseconds, shown_share, shown_time
from namekeeper.pipeline.report.values import AT_MOST, SHOWN, Report, ReportColumn, Row, Rows, Section

__all__ = ["SECTIONS", "make_report"]

DAYS_OF_GROWTH = 2
"""A plot of growth needs as many."""


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
    summary = [f"{_count(brokers, 'broker')}, {shown_count(outages, 'outage')}."]
    if worst:
        summary.append(
            f"The least available was {_broker(worst[0])}: {shown_share(worst[0]['availability'])},"
            f" {shown_duration(worst[0]['down_ms'])} down."
        )
    summary.append("Time in which no name server could tell is unknown: neither up nor down.")
    columns = (
        *_BROKER_COLUMNS,
        ReportColumn("availability", "available", lambda value, _: shown_share(value), is_number=True),
        _duration_column("up_ms", "up"),
        _duration_column("down_ms", "down"),
        _duration_column("unknown_ms", "unknown"),
        ReportColumn("outages", "outages", is_number=True),
        ReportColumn(
            "longest_outage_ms", "longest", lambda value, _: shown_milliseconds(value), is_number=True
        ),
    )
    title = "Availability of brokers"
    return Section("availability", title, summary, columns, brokers[:SHOWN], len(brokers), rows["states"])


def _topics(rows: Rows) -> Section:
    topics = rows["topics"]
    columns = (
        ReportColumn("cluster", "cluster"),
        ReportColumn("topic", "topic"),
        _duration_column("writable_ms", "writable"),
        ReportColumn(
            "unwritable_ms", "not writable", lambda value, _: shown_milliseconds(value), is_number=True
        ),
        _duration_column("no_route_ms", "no route"),
        _duration_column("unknown_ms", "unknown"),
    )
    summary = [f"{_count(topics, 'topic', SHOWN)} could not be written to for some time."]
    return Section("topics", "Topics without a writable queue", summary, columns, topics, len(topics))


def _flaps(rows: Rows) -> Section:
    """A row is a broker in an hour, so hours are counted apart."""
    turned = rows["flaps"]
    columns = (
        ReportColumn("hour", "hour", shown_time),
        *_BROKER_COLUMNS,
        ReportColumn("outages", "outages", is_number=True),
        ReportColumn("sessions_ended", "sessions ended", is_number=True),
    )
    brokers = {(row["cluster"], row["broker_name"], row["broker_id"]) for row in turned}
    hours = {row["hour"] for row in turned}
    outages, ended = (sum(row[name] for row in turned) for name in ("outages", "sessions_ended"))
    at_least = "At least " if len(turned) >= AT_MOST else ""
    summary = [
        f"{at_least}{shown_count(len(brokers), 'broker')} went, in {shown_count(len(hours), 'clock hour')}.",
        f"{shown_count(outages, 'outage')}, {shown_count(ended, 'ended session')} over all name servers.",
    ]
    return Section("flaps", "Brokers that come and go", summary, columns, turned[:SHOWN], len(turned), turned)


def _drift(rows: Rows) -> Section:
    found = rows["drift"]
    longest = max(found, key=lambda row: row["valid_to"] - row["valid_from"], default=None)
    summary = [f"{_count(found, 'difference')} of 5 seconds or more between name servers."]
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
        ReportColumn("valid_from", "from", shown_time),
        ReportColumn("valid_to", "to", shown_time),
        _duration_column("ms", "for"),
        ReportColumn("is_open", "open", lambda value, _: "yes" if value else ""),
        ReportColumn("cluster", "cluster"),
        ReportColumn("subject", "about"),
        ReportColumn("held", "what each held"),
    )
    return Section(
        "drift", "Differences between name servers", summary, columns, listed[:SHOWN], len(found), listed
    )


def _capacity(rows: Rows) -> Section:
    newest = rows["capacity"]
    if not newest:
        return _last_held(rows["last_held"])
    topics = sum(row["topics"] for row in newest)
    queues = sum(row["write_queues"] for row in newest)
    names = shown_count(len(newest), "broker name")
    summary = [
        f"{names} on {newest[0]['day']}, at its end or when it was last known:",
        f"{shown_count(topics, 'topic row')}, {shown_count(queues, 'queue')} to write to.",
    ]
    largest = max((row["frame_used"] or 0 for row in newest), default=0)
    if largest:
        summary.append(f"The largest registration fills {shown_share(largest)} of a frame of 16 MiB.")
    by_day = rows["capacity_by_day"]
    if len({row["day"] for row in by_day}) < DAYS_OF_GROWTH:
        summary.append("How it grows is drawn when a second day is known.")
        by_day = ()
    columns = (
        *_HELD_COLUMNS,
        ReportColumn("body_bytes", "registration bytes", is_number=True),
        ReportColumn("frame_used", "of a frame", lambda value, _: shown_share(value), is_number=True),
    )
    return Section("capacity", _CAPACITY, summary, columns, newest[:SHOWN], len(newest), by_day)


def _last_held(names: Sequence[Row]) -> Section:
    """Of days at whose ends nobody was registered: what each broker name had when it went."""
    summary = ["A day has the numbers of its end, or of when it was last known. Nobody was registered then."]
    if names:
        summary.append("What each broker name had when it was last there:")
    columns = (*_HELD_COLUMNS, ReportColumn("until", "until", shown_time))
    return Section("capacity", _CAPACITY, summary, columns, names[:SHOWN], len(names))


def _changes(rows: Rows) -> Section:
    found, by_hour = rows["changes"], rows["changes_by_hour"]
    columns = (
        ReportColumn("at_ts", "when", shown_time),
        ReportColumn("namesrv", "name server"),
        ReportColumn("cause", "cause"),
        ReportColumn("peer", "asked by"),
        ReportColumn("kind", "what"),
        ReportColumn("action", "how"),
        ReportColumn("items", "rows", is_number=True),
        ReportColumn("broker_name", "broker name"),
        ReportColumn("topic", "topic"),
        ReportColumn("detail", "detail"),
    )
    total = sum(row["items"] for row in by_hour)
    verb = "was" if total == 1 else "were"
    listed = f"the newest {len(found)} records are" if len(found) > 1 else "the newest record is"
    summary = [f"{shown_count(total, 'row')} {verb} changed{f'; {listed} listed' if found else ''}."]
    return Section("changes", "Changes", summary, columns, found[:SHOWN], total, by_hour)


def _unknown_topics(rows: Rows) -> Section:
    found = rows["unknown_topics"]
    listed = [
        {**row, "name": row["topic"] if row["topic"] is not None else f"({row['bucket']})",
         "clients": ", ".join(row["languages"] or ())}
        for row in found
    ]  # fmt: skip
    columns = (
        ReportColumn("name", "topic"),
        ReportColumn("lookups", "asked for", is_number=True),
        ReportColumn("name_servers", "name servers", is_number=True),
        ReportColumn("clients", "clients"),
        ReportColumn("first_minute", "first", shown_time),
        ReportColumn("last_minute", "last", shown_time),
    )
    lookups = sum(row["lookups"] for row in found)
    summary = [f"Clients asked {shown_count(lookups, 'time')} for topics that had no route."]
    title = "Topics without a route that were asked for"
    return Section("unknown-topics", title, summary, columns, listed[:SHOWN], len(found), listed)


def _duration_column(name: str, title: str) -> ReportColumn:
    return ReportColumn(name, title, lambda value, _zone: shown_milliseconds(value), is_number=True)


def _count(rows: Sequence[Row], noun: str, limit: int = AT_MOST) -> str:
    """How many rows there are, as far as they were asked for."""
    return f"at least {limit} {noun}s" if len(rows) >= limit else shown_count(len(rows), noun)


def _broker(row: Row) -> str:
    return f"{row['broker_name']} ({row['broker_id']}) of {row['cluster']}"


def _subject(row: Row) -> str:
    if row["topic"] is not None:
        return f"{row['topic']} on {row['broker_name']}"
    return f"broker {row['broker_name']} ({row['broker_id']})"


_BROKER_COLUMNS = (
    ReportColumn("cluster", "cluster"),
    ReportColumn("broker_name", "broker name"),
    ReportColumn("broker_id", "id", is_number=True),
)
_HELD_COLUMNS = (
    ReportColumn("cluster", "cluster"),
    ReportColumn("broker_name", "broker name"),
    ReportColumn("topics", "topics", is_number=True),
    ReportColumn("read_queues", "read queues", is_number=True),
    ReportColumn("write_queues", "write queues", is_number=True),
)
_CAPACITY = "Capacity"
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
