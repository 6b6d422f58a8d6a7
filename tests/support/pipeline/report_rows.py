"""Rows as `report.query` finds them, of a small warehouse with names that try to break out."""

from collections.abc import Mapping, Sequence
from typing import Any

from namekeeper.pipeline.answers.queries import Answer
from namekeeper.pipeline.report.contents import SECTIONS, make_report
from namekeeper.pipeline.report.period import Period
from namekeeper.pipeline.report.plots import ColumnsPlot, LanesPlot
from namekeeper.pipeline.report.scale import TimeScale
from namekeeper.pipeline.report.values import Section

__all__ = ["HOUR", "NASTY", "SCALE", "START", "answers_of", "drawn_plot", "made_section", "report_rows"]

START = 1_772_323_200_000
HOUR = 3_600_000
SCALE = TimeScale(Period(START, START + 30 * HOUR), "UTC")
NASTY = "<script>alert('x')</script>\n$\\frac{1}{0}$ & \"主题\""


LABELLED = ("incidents", "availability", "states", "topics", "flaps", "drift", "capacity", "last_held")
"""Questions whose rows are of a cluster of name servers."""


def report_rows() -> dict[str, list[dict[str, Any]]]:
    """Question -> rows."""
    broker = {"cluster": "c", "broker_name": "b0", "broker_id": 0}
    nasty = {"cluster": "c", "broker_name": NASTY, "broker_id": 1}
    state = {"day": "2026-03-01", "began_at": START, "witnesses": 2}
    boot = {"ended_by": "running", "losses": 1, "unknown_ms": HOUR, "boot": START, "first_ts": START}
    capacity = {"cluster": "c", "topics": 3, "read_queues": 8, "write_queues": 12, "writable_topics": 3}
    group = {
        "slice": START + HOUR, "slice_groups": 2, "slice_items": 52, "cause_items": 50, "cause": "wipe_write_perm",
        "host": "10.0.0.9", "broker_name": "b0", "first_ts": START + HOUR, "last_ts": START + HOUR + 7, "records": 2,
        "items": 50, "name_servers": ["ns-1", "ns-2"], "clusters": [], "topics": [NASTY], "unnamed": 48,
        "details": ["read 4, write 4, perm 4"], "window_ms": None,
    }  # fmt: skip
    started = {
        **group, "cause": "started", "cause_items": 2, "host": None, "broker_name": None, "topics": [], "items": 2,
        "details": [], "unnamed": 0, "last_ts": START + HOUR,
    }  # fmt: skip
    found: dict[str, list[dict[str, Any]]] = {
        "boots": [
            {**boot, "namesrv": "ns-1", "knows_up_to": START + 30 * HOUR},
            {**boot, "namesrv": "ns-2", "knows_up_to": START + 29 * HOUR, "losses": 0, "unknown_ms": 0},
        ],
        "incidents": [
            {"kind": "broker_away", "cluster": "c", "subject": "b0", "from_ts": START, "to_ts": START + HOUR,
             "is_open": False, "lasted_ms": HOUR, "cause": "expired", "peer": None, "brokers": 1,
             "broker_names": ["b0"], "topics": 3, "first_topic": NASTY, "name_servers": [], "lookups": 70,
             "languages": ["GO", "JAVA"], "is_forgotten": False, "topic_ms": 3 * HOUR, "closed_by": None,
             "from_window_ms": None, "to_window_ms": None},
            {"kind": "permission_wiped", "cluster": "c", "subject": NASTY, "from_ts": START, "to_ts": None,
             "is_open": True, "lasted_ms": HOUR, "cause": "wipe_write_perm", "peer": "10.0.0.9:5000", "brokers": 1,
             "broker_names": [NASTY], "topics": 0, "first_topic": None, "name_servers": ["ns-1"], "lookups": 0,
             "languages": [], "is_forgotten": False, "topic_ms": 0, "closed_by": None,
             "from_window_ms": None, "to_window_ms": None},
        ],
        "availability": [
            {**nasty, "up_ms": 9 * HOUR, "down_ms": HOUR, "unknown_ms": 0, "outages": 1, "longest_outage_ms": HOUR,
             "availability": 0.9, "unregistered_ms": 0,
             "uncertain_ms": 0},
            {**broker, "up_ms": 10 * HOUR, "down_ms": 0, "unknown_ms": HOUR, "outages": 0, "longest_outage_ms": 0,
             "availability": 1.0, "unregistered_ms": 0,
             "uncertain_ms": 0},
            {**broker, "broker_id": 2, "up_ms": 0, "down_ms": 0, "unknown_ms": HOUR, "outages": 0,
             "longest_outage_ms": 0, "availability": None, "unregistered_ms": 0,
             "uncertain_ms": 0},
        ],
        "states": [
            {**nasty, **state, "state": "up", "valid_from": START, "valid_to": START + 9 * HOUR},
            {**nasty, **state, "state": "down", "valid_from": START + 9 * HOUR, "valid_to": START + 10 * HOUR},
            {**broker, **state, "state": "unknown", "valid_from": START, "valid_to": START + HOUR},
        ],
        "topics": [
            {"cluster": "c", "topic": NASTY, "writable_ms": HOUR, "unwritable_ms": 60_000, "no_route_ms": 5, "worst_namesrv": None, "worst_ms": None,
             "unknown_ms": 0, "uncertain_ms": 0},
        ],
        "flaps": [{"day": "2026-03-01", **broker, "hour": START, "outages": 2, "sessions_ended": 5}],
        "drift": [
            {**broker, "topic": None, "views": ["ns-1: there", "ns-2: missing"], "valid_from": START,
             "valid_to": START + HOUR, "is_open": False, "from_window_ms": None, "to_window_ms": None},
            {"cluster": "c", "broker_name": "b0", "broker_id": None, "topic": NASTY,
             "views": ["ns-1: read 4, write 4, perm 6, flag 0", "ns-2: absent"], "valid_from": START + HOUR,
             "valid_to": START + 3 * HOUR, "is_open": True, "from_window_ms": None,
             "to_window_ms": None},
        ],
        "capacity": [
            {**capacity, "day": "2026-03-02", "broker_name": "b0", "body_bytes": 4 << 20, "frame_used": 0.25},
            {**capacity, "day": "2026-03-02", "broker_name": "b1", "body_bytes": None, "frame_used": None},
        ],
        "capacity_by_day": [
            {"day": "2026-03-01", "cluster": "c", "write_queues": 8, "frame_used": None},
            {"day": "2026-03-02", "cluster": "c", "write_queues": 24, "frame_used": 0.25},
        ],
        "last_held": [],
        "change_groups": [group, started],
        "changes_by_time": [
            {"slice": START, "slice_ms": HOUR, "cause": cause, "items": 10 - number, "records": number + 1}
            for number, cause in enumerate(("register_broker", "expired", "wipe_write_perm", "put_kv_config"))
        ],
        "unknown_topics": [
            {"topic": NASTY, "bucket": None, "lookups": 12, "name_servers": 2, "languages": ["JAVA"],
             "first_minute": START, "last_minute": START + HOUR},
            {"topic": None, "bucket": "other", "lookups": 3, "name_servers": 1, "languages": [],
             "first_minute": START, "last_minute": START},
        ],
    }  # fmt: skip
    for name in LABELLED:
        found[name] = [{**row, "cluster_label": None} for row in found[name]]
    return found


def answers_of(
    rows: Mapping[str, Sequence[Mapping[str, Any]]], totals: Mapping[str, int] | None = None
) -> dict[str, Answer]:
    """Question -> its answer; of some questions there are more rows than these."""
    return {name: Answer(some, (totals or {}).get(name, len(some))) for name, some in rows.items()}


def made_section(name: str, rows: Mapping[str, Sequence[Mapping[str, Any]]], **totals: int) -> Section:
    """One section of the report that these rows make."""
    (section,) = make_report("UTC", [name], answers_of(rows, totals)).sections
    assert section.name == name
    return section


def drawn_plot(
    name: str, rows: Mapping[str, Sequence[Mapping[str, Any]]], scale: TimeScale = SCALE, **totals: int
) -> LanesPlot | ColumnsPlot | None:
    """The plot of one section."""
    draw = SECTIONS[name].draw
    section = made_section(name, rows, **totals)
    return draw(section, scale) if draw is not None and section.plot else None
