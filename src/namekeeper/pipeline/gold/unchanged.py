"""Finds the tables that a run need not compute: an earlier run has made them as this one would.

Most records of a quiet day are signs of life, and checkpoints that confirm what is known. A run recomputes
the time from the last checkpoint on that its records can't have changed. A history goes on as it did if the
state is known all the time since then, each checkpoint has the same rows of its facts, and no other record
has one.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from namekeeper.pipeline.gold.chains import make_chain
from namekeeper.pipeline.gold.engine import Engine
from namekeeper.pipeline.gold.graph import Graph
from namekeeper.pipeline.gold.histories import TIMELINE
from namekeeper.pipeline.gold.plan import FOREVER, RecomputeRange
from namekeeper.pipeline.gold.tables import GOLD, KNOWN_SPAN, LOST_RECORDS
from namekeeper.pipeline.schema import FACTS

__all__ = ["facts_of", "unchanged_tables"]

_STATES = {"up", "unknown", "stopped"}
_ORDER = "records"
"""The phase that orders records. All tables depend on it; `boundary` shows what changes with the order."""


def facts_of(graph: Graph, table: str) -> frozenset[str]:
    """The facts whose rows a gold table is made of, beside the order and the times of all records."""
    return graph.sources(table, without=_ORDER) & FACTS.keys()


def unchanged_tables(
    engine: Engine, graph: Graph, ranges: Sequence[RecomputeRange], args: Mapping[str, Any]
) -> frozenset[str]:
    """Gold tables of the phases session, history and change_log that the new records do not change.

    Args:
        engine: Has `boundary`.
        graph: All views.
        ranges: The recompute ranges.
        args: Parameters of the queries.
    """
    make_chain(engine, [graph["broker_group_recorded"], graph["range_content"]], args)
    if any(range_.from_boot < 0 or range_.to_ts < FOREVER for range_ in ranges):
        return frozenset()
    content = engine.rows("range_content")
    if not _are_always_up(content, ranges):
        return frozenset()
    tables = {TIMELINE.table.name, LOST_RECORDS.name}
    checkpoints = {
        range_.namesrv: [row["checkpoint"] for row in _of(content, "up", range_.namesrv)] for range_ in ranges
    }
    if all(len(some) == 1 for some in checkpoints.values()):
        tables.add(KNOWN_SPAN.name)
    changed = {fact for fact in FACTS if not _is_only_confirmed(content, fact, checkpoints)}
    there = {row["fact"] for row in content}
    for view in graph:
        if view.phase in {"history", "change_log"} and view.writes:
            facts = facts_of(graph, view.writes)
            is_made = engine.is_there(GOLD[view.writes]) or facts.isdisjoint(there)
            if is_made and facts.isdisjoint(changed):
                tables.add(view.writes)
    return frozenset(tables)


def _are_always_up(content: Collection[Mapping[str, Any]], ranges: Sequence[RecomputeRange]) -> bool:
    """Whether the name servers were up and known in the whole ranges, for earlier runs and for this one."""
    starts = {(range_.namesrv, range_.from_boot, range_.from_position) for range_ in ranges}
    found = {(row["namesrv"], row["boot"], row["checkpoint"]) for row in content if row["fact"] == "up"}
    boots = {(namesrv, boot) for namesrv, boot, _ in starts}
    is_broken = any(row["fact"] in _STATES - {"up"} | {LOST_RECORDS.name} for row in content)
    return not is_broken and starts <= found and {(namesrv, boot) for namesrv, boot, _ in found} <= boots


def _is_only_confirmed(
    content: Collection[Mapping[str, Any]], fact: str, checkpoints: Mapping[str, Sequence[int]]
) -> bool:
    """Whether the rows of a fact are the same in each complete checkpoint of a range, and nowhere else."""
    for namesrv, complete in checkpoints.items():
        rows = {row["checkpoint"]: (row["rows"], row["content"]) for row in _of(content, fact, namesrv)}
        if None in rows or len({rows.get(checkpoint) for checkpoint in complete}) > 1:
            return False
    return True


def _of(content: Collection[Mapping[str, Any]], fact: str, namesrv: str) -> list[Mapping[str, Any]]:
    return [row for row in content if row["fact"] == fact and row["namesrv"] == namesrv]
