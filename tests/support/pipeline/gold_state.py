"""Rows of gold tables as the oracle has its state, so that the two can be compared."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.support.history.oracle import State, Story

__all__ = ["HISTORY_TABLES", "GoldState", "frozen", "instants_of", "periods_of"]

Row = Mapping[str, Any]
FOREVER = 2**60


def frozen(value: Any) -> Any:
    """The same JSON value, hashable and without an order of members."""
    if isinstance(value, dict):
        return tuple(sorted((key, frozen(inner)) for key, inner in value.items()))
    return value


_OF_ROW: Mapping[str, tuple[str, Callable[[Row], tuple[Any, Any]]]] = {
    "broker_address": (
        "live",
        lambda r: (
            (r["cluster"], r["broker_addr"]),
            (
                r["broker_name"], r["broker_id"], r["gen"], r["ha_server_addr"], r["timeout_ms"],
                tuple(r["data_version"]),
            ),
        ),
    ),
    "broker_group_history": (
        "group",
        lambda r: (
            (r["broker_name"],),
            (r["cluster"], r["zone"], r["acting_master"], tuple((m["broker_id"], m["broker_addr"]) for m in r["members"])),
        ),
    ),
    "cluster_history": ("cluster", lambda r: ((r["cluster"],), tuple(r["broker_names"]))),
    "topic_route": (
        "topic",
        lambda r: (
            (r["broker_name"], r["topic"]),
            (r["read_queue_nums"], r["write_queue_nums"], r["perm"], r["topic_sys_flag"]),
        ),
    ),
    "topic_mapping_history": (
        "mapping", lambda r: ((r["topic"], r["broker_name"]), frozen(json.loads(r["mapping"]))),
    ),
    "filter_server_history": (
        "filter", lambda r: ((r["cluster"], r["broker_addr"]), tuple(r["filter_servers"])),
    ),
    "kv_history": ("kv", lambda r: ((r["namespace"], r["key"]), r["value"])),
    "config_history": ("config", lambda r: ((r["property"],), r["value"])),
}  # fmt: skip

HISTORY_TABLES = tuple(_OF_ROW)
"""Tables that together are the state."""


class GoldState:
    """The state of name servers at any instant, out of the rows of the histories."""

    def __init__(self, rows_of: Callable[[str], Iterable[Row]]) -> None:
        self._rows: dict[tuple[str, str], list[tuple[int, int, Any, Any]]] = {}
        for name, (table, of_row) in _OF_ROW.items():
            for row in rows_of(name):
                until = FOREVER if row["valid_to"] is None else row["valid_to"]
                found = self._rows.setdefault((row["namesrv"], table), [])
                found.append((row["valid_from"], until, *of_row(row)))

    def at(self, namesrv: str, ts: int) -> State:
        """Table -> key -> value; a key that is there twice has a value that nothing equals."""
        state: State = {table: {} for table, _ in _OF_ROW.values()}
        for table, rows in state.items():
            for start, end, key, value in self._rows.get((namesrv, table), ()):
                if start <= ts < end:
                    rows[key] = ("twice", rows[key], value) if key in rows else value
        return state


def periods_of(rows: Iterable[Row], namesrv: str) -> list[tuple[str, int, int | None]]:
    """`Story.periods` out of name_server_timeline; equal neighbours of several boots are one."""
    found: list[tuple[str, int, int | None]] = []
    for row in sorted((row for row in rows if row["namesrv"] == namesrv), key=lambda row: row["valid_from"]):
        if found and found[-1][0] == row["state"] and found[-1][2] == row["valid_from"]:
            found[-1] = (row["state"], found[-1][1], row["valid_to"])
        else:
            found.append((row["state"], row["valid_from"], row["valid_to"]))
    return found


def instants_of(story: Story) -> list[int]:
    """Every instant at which something changed, and the ms before and after it."""
    times = {step.ts for step in story.steps}
    return sorted({ts + shift for ts in times for shift in (-1, 0, 1)})
