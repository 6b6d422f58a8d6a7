"""The gold tables step by step, on any engine that runs the SQL: ranges of name servers first, then days.

Spark's engine is in `build`; the tests have one for DuckDB.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from namekeeper.pipeline.gold.engine import Engine, NewRecords
from namekeeper.pipeline.gold.histories import DRIFTS, HISTORIES, TIMELINE, TOPIC_ROUTE
from namekeeper.pipeline.gold.history import (
    History,
    affected_partition_sql,
    computed_history_sql,
    first_rows_sql,
    merged_history_sql,
    overlapping_sql,
    rewritten_sql,
)
from namekeeper.pipeline.gold.plan import (
    BEGINNING,
    DAY_MS,
    FOREVER,
    Day,
    KnownSpan,
    RecomputeRange,
    Window,
    common_unit,
    days_between,
    kept_ranges,
    plan_ranges,
    plan_windows,
)
from namekeeper.pipeline.gold.sql_text import sql_text
from namekeeper.pipeline.gold.tables import GOLD, KNOWN_SPAN, LOST_RECORDS, NAME_SERVER_SESSION
from namekeeper.pipeline.gold.topics import define_recorded_topics, define_topic_fingerprints
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
    "namesrv string, range_id bigint, from_boot bigint, from_position bigint, from_ts bigint, to_boot bigint,"
    " to_position bigint, to_ts bigint"
)
_KEPT_RANGE_DDL = (
    "namesrv string, from_ts bigint, to_ts bigint, from_boot bigint, from_seq bigint, to_boot bigint,"
    " to_seq bigint"
)
_DAY_DDL = "day string, from_ts bigint, to_ts bigint"
_WINDOW_DDL = "from_ts bigint, to_ts bigint"

_KEPT = frozenset({
    "record_block", "loss", "complete_checkpoint", "event_time", "position", "boundary", "known_position",
    "up_period", "registered_broker", "cluster_witness", "broker_witness", "broker_state", "registered_topic",
    "registration_sample", "cluster_of_broker_name", "registered_broker_name", "computed_change_log",
    "computed_name_server_session",
})  # fmt: skip
"""Views that several others read: an engine that computes lazily keeps them."""

_ORDER = (
    "checkpoint_count", "broker_group_recorded", "config_recorded", "record_in_range", "record_block", "loss",
    "complete_checkpoint", "event_time", "position", "boundary", "known_position",
    "computed_name_server_timeline",
)  # fmt: skip
_WITNESSES = (
    ("registered_broker", "recently_seen_cluster", "cluster_witness", "broker_witness", "broker_state"),
    ("cluster_of_broker_name", "registered_broker_name"),
    ("registration_sample",),
)
"""Views of a window; those of a line need nothing of the other lines."""
_DAY_SOURCES = tuple(
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


Periods = list[tuple[int, int]]
"""(from, to) in effective ms."""
HistoryWriter = Callable[[Engine, History, Mapping[str, Any]], None]
"""Writes a history, with parameters of its queries."""


def make_gold(
    engine: Engine, new_records: Iterable[NewRecords], *, block_records: int = BLOCK_RECORDS
) -> None:
    """Bring every gold table up to date with records that are new in the facts.

    Args:
        engine: The engine.
        new_records: What is new.
        block_records: Records that are looked at together first; the result does not depend on it.
    """
    new_records = list(new_records)
    if not new_records:
        return
    engine.show("old_known_span", KNOWN_SPAN)
    known = [
        KnownSpan(*(row[name] for name in names_in(KNOWN_SPAN))) for row in engine.rows("old_known_span")
    ]
    ranges = plan_ranges(new_records, known)
    engine.show_facts(ranges)
    # What name servers held is known from complete checkpoints on.
    renew = _update_history if known else _write_first_rows
    args = _args(engine, block_records=block_records)
    periods = _order_records(engine, ranges, args)
    with (
        engine.in_background(partial(_make_topic_route, engine, renew, args)) as wait_for_topics,
        engine.in_background(partial(_make_unread_tables, engine, renew, args)),
    ):
        periods += _make_day_sources(engine, ranges, renew, args)
        for window in plan_windows(periods, engine.zone, after_ms=MEMORY_MS):
            _make_window(engine, window, wait_for_topics)
    engine.show("name_server_clock_daily", GOLD["name_server_clock_daily"])
    _define(engine, ("new_name_server_session",), _args(engine))
    engine.replace(NAME_SERVER_SESSION, "new_name_server_session")


def _args(engine: Engine, **others: int) -> dict[str, int | str]:
    return {"forever": FOREVER, "zone": engine.zone, "shortest_ms": 1, **others}


def _define(engine: Engine, names: Iterable[str], args: Mapping[str, Any]) -> None:
    for name in names:
        engine.define(name, sql_text(name), args, keep=name in _KEPT)


def _order_records(engine: Engine, ranges: Sequence[RecomputeRange], args: Mapping[str, Any]) -> Periods:
    """Put the records of the ranges in order, beside what needs no order; returns minutes of activity."""
    engine.put("recompute_range", _RANGE_DDL, ranges)
    engine.put("kept_range", _KEPT_RANGE_DDL, kept_ranges(ranges))
    minutes: Periods
    *_, minutes = engine.concurrently(
        [
            partial(_define, engine, _ORDER, args),
            partial(define_topic_fingerprints, engine),
            partial(_sum_up_activity, engine),
        ]
    )
    return minutes


def _make_topic_route(engine: Engine, renew: HistoryWriter, args: Mapping[str, Any]) -> None:
    """The topic rows that each name server held, which take as long as all else together."""
    define_recorded_topics(engine)
    _make_history(engine, TOPIC_ROUTE, renew, args)


def _make_unread_tables(engine: Engine, renew: HistoryWriter, args: Mapping[str, Any]) -> None:
    """Tables that no other table is made of."""
    for history in HISTORIES:
        if history not in (TOPIC_ROUTE, *_DAY_SOURCES):
            _make_history(engine, history, renew, args)
    _replace_within_ranges(engine, KNOWN_SPAN, args)
    _make_change_log(engine, args)


def _make_day_sources(
    engine: Engine, ranges: Sequence[RecomputeRange], renew: HistoryWriter, args: Mapping[str, Any]
) -> Periods:
    """Tables that days are made of, but for those of topics; returns the periods of time of the ranges."""
    periods: Periods
    periods, *_ = engine.concurrently(
        [
            partial(_make_sessions, engine, ranges, args),
            *(partial(_make_history, engine, history, renew, args) for history in _DAY_SOURCES),
        ]
    )
    return periods


def _make_history(engine: Engine, history: History, renew: HistoryWriter, args: Mapping[str, Any]) -> None:
    """What each name server held of one kind, within the ranges."""
    if _is_recorded(engine, history):
        engine.define(f"computed_{history.table.name}", computed_history_sql(history), args)
        renew(engine, history, args)
    else:
        engine.show(history.table.name, history.table)


def _make_sessions(engine: Engine, ranges: Sequence[RecomputeRange], args: Mapping[str, Any]) -> Periods:
    """What is known of each name server, and its lives; returns the periods of time of the ranges."""
    _update_history(engine, TIMELINE, args)
    _replace_within_ranges(engine, LOST_RECORDS, args)
    engine.show("old_name_server_session", NAME_SERVER_SESSION)
    _define(engine, ("boot_extent", "computed_name_server_session"), args)
    engine.define(
        "range_period",
        "SELECT range_id, min(first_eff_ts) AS first_ts, max(last_eff_ts) AS last_ts FROM record_block"
        " GROUP BY range_id",
        args,
    )
    spans = {row["range_id"]: (row["first_ts"], row["last_ts"]) for row in engine.rows("range_period")}
    return [spans[range_.range_id] for range_ in ranges if range_.range_id in spans]


def _is_recorded(engine: Engine, history: History) -> bool:
    """Whether any journal ever told of its rows; most have no static topic, and many no KV entry."""
    fact = FACTS.get(history.fact)
    return fact is None or engine.is_there(fact)


def _write_first_rows(engine: Engine, history: History, args: Mapping[str, Any]) -> None:
    """Write what was computed of a table that has no rows."""
    name = history.table.name
    engine.define(f"new_{name}", first_rows_sql(history), args)
    engine.replace(history.table, f"new_{name}", by="valid_to_day")
    engine.show(name, history.table)


def _update_history(engine: Engine, history: History, args: Mapping[str, Any]) -> None:
    """Join what was computed with what is left of a table, and write the partitions that this concerns."""
    name = history.table.name
    engine.show(f"old_{name}", history.table)
    engine.define(f"overlapping_{name}", overlapping_sql(history), args)
    engine.define(f"merged_{name}", merged_history_sql(history), args, keep=True)
    engine.define(f"affected_partition_{name}", affected_partition_sql(history), args)
    days = [row["day"] for row in engine.rows(f"affected_partition_{name}")]
    engine.put(f"affected_partition_{name}", "day string", [(day,) for day in days])
    engine.define(f"new_{name}", rewritten_sql(history), args)
    engine.replace(history.table, f"new_{name}", by="valid_to_day", values=days)
    engine.show(name, history.table)


def _replace_within_ranges(engine: Engine, table: Table, args: Mapping[str, Any]) -> None:
    """Write a small table of places whole, with what the work says now."""
    engine.show(f"old_{table.name}", table)
    _define(engine, (f"computed_{table.name}",), args)
    *_, position = table.key
    text = sql_text("replaced").format(table=table.name, position=position)
    engine.define(f"new_{table.name}", text, args)
    engine.replace(table, f"new_{table.name}")
    engine.show(table.name, table)


def _make_change_log(engine: Engine, args: Mapping[str, Any]) -> None:
    table = GOLD["change_log"]
    engine.show("old_change_log", table)
    _define(engine, ("computed_change_log", "kept_change_log"), args)
    engine.define(
        "affected_partition_change_log",
        "SELECT day FROM computed_change_log UNION SELECT o.day FROM old_change_log o"
        " JOIN recompute_range w ON w.namesrv = o.namesrv AND o.at_ts >= w.from_ts AND o.at_ts <= w.to_ts",
        args,
    )
    days = [row["day"] for row in engine.rows("affected_partition_change_log")]
    engine.put("affected_partition_change_log", "day string", [(day,) for day in days])
    engine.define(
        "new_change_log",
        "SELECT * FROM computed_change_log"
        " UNION ALL SELECT * FROM kept_change_log"
        " WHERE day IN (SELECT day FROM affected_partition_change_log)",
        args,
    )
    engine.replace(table, "new_change_log", by="day", values=days)


def _changed_minutes(engine: Engine) -> list[int]:
    """The minutes of which there are new counts of activity."""
    minutes = " UNION ".join(
        f"SELECT minute FROM {fact} WHERE load_id = :load_id"  # noqa: S608 -- a name of ours
        for fact in _ACTIVITY.values()
    )
    engine.define("changed_minute", minutes, _args(engine, load_id=engine.load_id))
    return [row["minute"] for row in engine.rows("changed_minute")]


def _sum_up_activity(engine: Engine) -> Periods:
    """Sum up activity for the days of which there are new counts; returns their minutes."""
    minutes = [(minute, minute) for minute in _changed_minutes(engine)]
    windows = plan_windows(minutes, engine.zone, after_ms=0)
    days = [day for window in windows for day in days_between(window, engine.zone)]
    engine.put("activity_day", _DAY_DDL, days)
    from_ts, to_ts = (days[0].from_ts, days[-1].to_ts) if days else (0, 0)
    args = _args(engine, from_ts=from_ts, to_ts=to_ts, unit_ms=common_unit(days))
    _make_days(engine, _ACTIVITY, days, args)
    return minutes


def _make_window(engine: Engine, window: Window, wait_for_topics: Callable[[], object]) -> None:
    """Tables that compare name servers or sum up days, for days that follow each other.

    Args:
        engine: The engine.
        window: Of the days.
        wait_for_topics: Returns when the rows of topics are written.
    """
    days = days_between(window, engine.zone)
    cut = Window(window.from_ts - DAY_MS, window.to_ts + DAY_MS)
    args = _args(
        engine,
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
    engine.put("report_day", _DAY_DDL, days)
    _define(engine, ("horizon", "up_period"), args)
    engine.concurrently([partial(_define, engine, names, args) for names in _WITNESSES])
    engine.concurrently([partial(_make_days, engine, names, days, args) for names in _DAILY])
    wait_for_topics()
    _define(engine, ("registered_topic", "topic_state"), args)
    engine.concurrently([partial(_make_days, engine, names, days, args) for names in _DAILY_OF_TOPICS])
    engine.define("name_server", "SELECT DISTINCT namesrv FROM computed_name_server_session", args)
    if len(engine.rows("name_server")) == 1:
        return  # who is alone disagrees with nobody
    _define(engine, ("observed_topic",), args)
    engine.put("recompute_window", _WINDOW_DDL, [cut])
    engine.put("kept_window", _WINDOW_DDL, [(BEGINNING, cut.from_ts), (cut.to_ts, FOREVER)])
    for history in DRIFTS:
        name = f"computed_{history.table.name}"
        engine.define(name, sql_text(name), args)
    drifting = {**args, "shortest_ms": SHORTEST_DRIFT_MS}
    engine.concurrently([partial(_update_history, engine, history, drifting) for history in DRIFTS])


def _make_days(engine: Engine, names: Iterable[str], days: Sequence[Day], args: Mapping[str, Any]) -> None:
    """Tables of days, one after the other."""
    for name in names:
        engine.define(f"new_{name}", sql_text(f"new_{name}"), args)
        engine.replace(GOLD[name], f"new_{name}", by="day", values=[day.day for day in days])
        engine.show(name, GOLD[name])
