"""The gold tables step by step, on any engine that runs the SQL: ranges of name servers first, then days.

Spark's workshop is in `build`; the tests have one for DuckDB.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from namekeeper.pipeline.gold.histories import DRIFTS, HISTORIES, TIMELINE, TOPIC_ROUTE
from namekeeper.pipeline.gold.history import (
    History,
    fresh_sql,
    history_sql,
    merge_sql,
    parts_sql,
    renewed_sql,
    touched_sql,
)
from namekeeper.pipeline.gold.plan import (
    BEGINNING,
    DAY_MS,
    FOREVER,
    Day,
    KnownSpan,
    Range,
    Window,
    common_unit,
    days_between,
    outside,
    plan_ranges,
    plan_windows,
)
from namekeeper.pipeline.gold.sql_text import sql_text
from namekeeper.pipeline.gold.tables import GOLD, KNOWN_SPAN, LOST_RECORDS, NAME_SERVER_SESSION
from namekeeper.pipeline.gold.topics import fingerprint_topics, tell_topics
from namekeeper.pipeline.gold.workshop import News, Workshop
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import Table, names_in

__all__ = ["MEMORY_MS", "make_gold"]

MEMORY_MS = 7 * DAY_MS
"""How long a cluster, broker or topic that nobody holds any more is still expected (docs/decisions/0012)."""
WITNESS_AFTER_MS = 120_000
"""So long after its start a name server must have heard every broker: then Java would expire them."""
SHORTEST_DRIFT_MS = 5_000
"""Shorter differences are propagation (docs/decisions/0012)."""
BLOCK_RECORDS = 512
LEAST_SAMPLES = 5
"""Fewer registrations do not tell how far a clock is off."""
LAG_LIMIT_MS = 120_000
FRAME_LIMIT_BYTES = 16 * 1024 * 1024
"""What Java's remoting takes at most (protocol.md 1)."""

_RANGE_DDL = (
    "namesrv string, range_id bigint, from_boot bigint, from_place bigint, from_ts bigint, to_boot bigint,"
    " to_place bigint, to_ts bigint"
)
_OUTSIDE_DDL = (
    "namesrv string, from_ts bigint, to_ts bigint, from_boot bigint, from_seq bigint, to_boot bigint,"
    " to_seq bigint"
)
_DAY_DDL = "day string, from_ts bigint, to_ts bigint"
_WINDOW_DDL = "from_ts bigint, to_ts bigint"

_KEPT = frozenset({
    "block", "loss", "complete_checkpoint", "moment", "place", "boundary", "known_place", "up_stretch",
    "held_broker", "cluster_witness", "broker_witness", "broker_state", "held_topic",
    "registration_sample", "name_cluster", "held_name", "computed_change_log", "name_server_session",
})  # fmt: skip
"""Views that several others read: an engine that computes lazily keeps them."""

_ORDER = (
    "checkpoint_count", "broker_group_told", "config_told", "inside", "block", "loss",
    "complete_checkpoint", "moment", "place", "boundary", "known_place", "computed_name_server_timeline",
)  # fmt: skip
_WITNESSES = (
    ("held_broker", "seen_cluster", "cluster_witness", "broker_witness", "broker_state"),
    ("name_cluster", "held_name"),
    ("registration_sample",),
)
"""Views of a window; those of a line need nothing of the other lines."""
_BASES = tuple(
    history
    for history in HISTORIES
    if history.table.name in {"broker_session", "broker_address", "broker_group_history"}
)
"""What days are made of, beside the rows of topics."""
_DAILY = (
    ("broker_state_daily", "broker_availability_daily", "broker_flap"),
    ("name_server_clock_daily", "propagation_lag"),
)
"""Tables of days that need no topics; those of a line need nothing of the other lines."""
_DAILY_OF_TOPICS = (("topic_availability_daily",), ("capacity_daily",))
"""The same of those that need the rows of topics."""
_ACTIVITY = {"heartbeat_gap_daily": "broker_minute", "unknown_topic_daily": "unknown_topic_minute"}
"""Tables of days that need nothing but a fact."""


Stretches = list[tuple[int, int]]
"""(from, to) in effective ms."""
Renewal = Callable[[Workshop, History, Mapping[str, Any]], None]
"""Writes a history, with parameters of its queries."""


def make_gold(workshop: Workshop, news: Iterable[News], *, block_records: int = BLOCK_RECORDS) -> None:
    """Bring every gold table up to date with records that are new in the facts.

    Args:
        workshop: The engine.
        news: What is new.
        block_records: Records that are looked at together first; the result does not depend on it.
    """
    news = list(news)
    if not news:
        return
    workshop.show("old_known_span", KNOWN_SPAN)
    known = [
        KnownSpan(*(row[name] for name in names_in(KNOWN_SPAN))) for row in workshop.rows("old_known_span")
    ]
    ranges = plan_ranges(news, known)
    workshop.show_facts(ranges)
    # What name servers held is known from complete checkpoints on.
    renew = _renew if known else _make_first
    args = _args(workshop, block_records=block_records)
    stretches = _put_in_order(workshop, ranges, args)
    with (
        workshop.meanwhile(partial(_make_topic_route, workshop, renew, args)) as topics_are_made,
        workshop.meanwhile(partial(_make_asides, workshop, renew, args)),
    ):
        stretches += _make_bases(workshop, ranges, renew, args)
        for window in plan_windows(stretches, workshop.zone, after_ms=MEMORY_MS):
            _make_window(workshop, window, topics_are_made)
    workshop.show("name_server_clock_daily", GOLD["name_server_clock_daily"])
    _define(workshop, ("timed_name_server_session",), _args(workshop))
    workshop.replace(NAME_SERVER_SESSION, "timed_name_server_session")


def _args(workshop: Workshop, **others: int) -> dict[str, int | str]:
    return {"forever": FOREVER, "zone": workshop.zone, "shortest_ms": 1, **others}


def _define(workshop: Workshop, names: Iterable[str], args: Mapping[str, Any]) -> None:
    for name in names:
        workshop.define(name, sql_text(name), args, keep=name in _KEPT)


def _put_in_order(workshop: Workshop, ranges: Sequence[Range], args: Mapping[str, Any]) -> Stretches:
    """Put the records of the ranges in order, beside what needs no order; returns minutes of activity."""
    workshop.put("work", _RANGE_DDL, ranges)
    workshop.put("outside", _OUTSIDE_DDL, outside(ranges))
    minutes: Stretches
    *_, minutes = workshop.together(
        [
            partial(_define, workshop, _ORDER, args),
            partial(fingerprint_topics, workshop),
            partial(_sum_up_activity, workshop),
        ]
    )
    return minutes


def _make_topic_route(workshop: Workshop, renew: Renewal, args: Mapping[str, Any]) -> None:
    """The topic rows that each name server held, which take as long as all else together."""
    tell_topics(workshop)
    _make_history(workshop, TOPIC_ROUTE, renew, args)


def _make_asides(workshop: Workshop, renew: Renewal, args: Mapping[str, Any]) -> None:
    """Tables that no other table is made of."""
    for history in HISTORIES:
        if history not in (TOPIC_ROUTE, *_BASES):
            _make_history(workshop, history, renew, args)
    _make_again(workshop, KNOWN_SPAN, args)
    _make_change_log(workshop, args)


def _make_bases(
    workshop: Workshop, ranges: Sequence[Range], renew: Renewal, args: Mapping[str, Any]
) -> Stretches:
    """Tables that days are made of, but for those of topics; returns the stretches of time of the ranges."""
    stretches: Stretches
    stretches, *_ = workshop.together(
        [
            partial(_make_sessions, workshop, ranges, args),
            *(partial(_make_history, workshop, history, renew, args) for history in _BASES),
        ]
    )
    return stretches


def _make_history(workshop: Workshop, history: History, renew: Renewal, args: Mapping[str, Any]) -> None:
    """What each name server held of one kind, within the ranges."""
    if _is_told(workshop, history):
        workshop.define(f"computed_{history.table.name}", history_sql(history), args)
        renew(workshop, history, args)
    else:
        workshop.show(history.table.name, history.table)


def _make_sessions(workshop: Workshop, ranges: Sequence[Range], args: Mapping[str, Any]) -> Stretches:
    """What is known of each name server, and its lives; returns the stretches of time of the ranges."""
    _renew(workshop, TIMELINE, args)
    _make_again(workshop, LOST_RECORDS, args)
    workshop.show("old_name_server_session", NAME_SERVER_SESSION)
    _define(workshop, ("boot_seen", "name_server_session"), args)
    workshop.define(
        "range_span",
        "SELECT range_id, min(first_eff_ts) AS first_ts, max(last_eff_ts) AS last_ts FROM block"
        " GROUP BY range_id",
        args,
    )
    spans = {row["range_id"]: (row["first_ts"], row["last_ts"]) for row in workshop.rows("range_span")}
    return [spans[range_.range_id] for range_ in ranges if range_.range_id in spans]


def _is_told(workshop: Workshop, history: History) -> bool:
    """Whether any journal ever told of its rows; most have no static topic, and many no KV entry."""
    fact = FACTS.get(history.fact)
    return fact is None or workshop.is_there(fact)


def _make_first(workshop: Workshop, history: History, args: Mapping[str, Any]) -> None:
    """Write what was computed of a table that has no rows."""
    name = history.table.name
    workshop.define(f"fresh_{name}", fresh_sql(history), args)
    workshop.replace(history.table, f"fresh_{name}", by="valid_to_day")
    workshop.show(name, history.table)


def _renew(workshop: Workshop, history: History, args: Mapping[str, Any]) -> None:
    """Join what was computed with what is left of a table, and write the partitions that this concerns."""
    name = history.table.name
    workshop.show(f"old_{name}", history.table)
    workshop.define(f"touched_{name}", touched_sql(history), args)
    workshop.define(f"merged_{name}", merge_sql(history), args, keep=True)
    workshop.define(f"parts_{name}", parts_sql(history), args)
    days = [row["day"] for row in workshop.rows(f"parts_{name}")]
    workshop.put(f"parts_{name}", "day string", [(day,) for day in days])
    workshop.define(f"renewed_{name}", renewed_sql(history), args)
    workshop.replace(history.table, f"renewed_{name}", by="valid_to_day", values=days)
    workshop.show(name, history.table)


def _make_again(workshop: Workshop, table: Table, args: Mapping[str, Any]) -> None:
    """Write a small table of places whole, with what the work says now."""
    workshop.show(f"old_{table.name}", table)
    _define(workshop, (f"computed_{table.name}",), args)
    *_, place = table.key
    text = sql_text("made_again").format(table=table.name, place=place)
    workshop.define(f"now_{table.name}", text, args)
    workshop.replace(table, f"now_{table.name}")
    workshop.show(table.name, table)


def _make_change_log(workshop: Workshop, args: Mapping[str, Any]) -> None:
    table = GOLD["change_log"]
    workshop.show("old_change_log", table)
    _define(workshop, ("computed_change_log", "kept_change_log"), args)
    workshop.define(
        "parts_change_log",
        "SELECT day FROM computed_change_log UNION SELECT o.day FROM old_change_log o"
        " JOIN work w ON w.namesrv = o.namesrv AND o.at_ts >= w.from_ts AND o.at_ts <= w.to_ts",
        args,
    )
    days = [row["day"] for row in workshop.rows("parts_change_log")]
    workshop.put("parts_change_log", "day string", [(day,) for day in days])
    workshop.define(
        "now_change_log",
        "SELECT * FROM computed_change_log"
        " UNION ALL SELECT * FROM kept_change_log WHERE day IN (SELECT day FROM parts_change_log)",
        args,
    )
    workshop.replace(table, "now_change_log", by="day", values=days)


def _new_minutes(workshop: Workshop) -> list[int]:
    """The minutes of which there are new counts of activity."""
    minutes = " UNION ".join(
        f"SELECT minute FROM {fact} WHERE load_id = :load_id"  # noqa: S608 -- a name of ours
        for fact in _ACTIVITY.values()
    )
    workshop.define("new_minute", minutes, _args(workshop, load_id=workshop.load_id))
    return [row["minute"] for row in workshop.rows("new_minute")]


def _sum_up_activity(workshop: Workshop) -> Stretches:
    """Sum up activity for the days of which there are new counts; returns their minutes."""
    minutes = [(minute, minute) for minute in _new_minutes(workshop)]
    windows = plan_windows(minutes, workshop.zone, after_ms=0)
    days = [day for window in windows for day in days_between(window, workshop.zone)]
    workshop.put("activity_day", _DAY_DDL, days)
    from_ts, to_ts = (days[0].from_ts, days[-1].to_ts) if days else (0, 0)
    args = _args(workshop, from_ts=from_ts, to_ts=to_ts, unit_ms=common_unit(days))
    _make_days(workshop, _ACTIVITY, days, args)
    return minutes


def _make_window(workshop: Workshop, window: Window, topics_are_made: Callable[[], object]) -> None:
    """Tables that compare name servers or sum up days, for days that follow each other.

    Args:
        workshop: The engine.
        window: Of the days.
        topics_are_made: Waits for the rows of topics.
    """
    days = days_between(window, workshop.zone)
    cut = Window(window.from_ts - DAY_MS, window.to_ts + DAY_MS)
    args = _args(
        workshop,
        cut_from=cut.from_ts,
        cut_to=cut.to_ts,
        sample_from=cut.from_ts,
        look_from=cut.from_ts - MEMORY_MS - DAY_MS,
        look_to=cut.to_ts + DAY_MS,
        memory_ms=MEMORY_MS,
        witness_after_ms=WITNESS_AFTER_MS,
        least_samples=LEAST_SAMPLES,
        lag_limit_ms=LAG_LIMIT_MS,
        frame_limit_bytes=FRAME_LIMIT_BYTES,
    )
    workshop.put("report_day", _DAY_DDL, days)
    _define(workshop, ("horizon", "up_stretch"), args)
    workshop.together([partial(_define, workshop, names, args) for names in _WITNESSES])
    workshop.together([partial(_make_days, workshop, names, days, args) for names in _DAILY])
    topics_are_made()
    _define(workshop, ("held_topic", "topic_state"), args)
    workshop.together([partial(_make_days, workshop, names, days, args) for names in _DAILY_OF_TOPICS])
    workshop.define("name_server", "SELECT DISTINCT namesrv FROM name_server_session", args)
    if len(workshop.rows("name_server")) == 1:
        return  # who is alone disagrees with nobody
    _define(workshop, ("held_view",), args)
    workshop.put("window_work", _WINDOW_DDL, [cut])
    workshop.put("window_outside", _WINDOW_DDL, [(BEGINNING, cut.from_ts), (cut.to_ts, FOREVER)])
    for history in DRIFTS:
        name = f"computed_{history.table.name}"
        workshop.define(name, sql_text(name), args)
    drifting = {**args, "shortest_ms": SHORTEST_DRIFT_MS}
    workshop.together([partial(_renew, workshop, history, drifting) for history in DRIFTS])


def _make_days(
    workshop: Workshop, names: Iterable[str], days: Sequence[Day], args: Mapping[str, Any]
) -> None:
    """Tables of days, one after the other."""
    for name in names:
        workshop.define(f"now_{name}", sql_text(name), args)
        workshop.replace(GOLD[name], f"now_{name}", by="day", values=[day.day for day in days])
        workshop.show(name, GOLD[name])
