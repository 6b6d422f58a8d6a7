"""The gold tables step by step, on any engine that runs the SQL: ranges of name servers first, then days.

The views of a step, their order, and which run at the same time follow from the graph of the views
(`gold_graph`). Spark's engine is in `build`; the tests have one for DuckDB.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

from namekeeper.common.expected import LATE_MS, MASS_BROKERS, MEMORY_MS, TOGETHER_MS, WITNESS_AFTER_MS
from namekeeper.common.namesrv_clusters import SHARED_MS, namesrv_clusters
from namekeeper.pipeline.gold.chains import make_chain
from namekeeper.pipeline.gold.engine import Engine
from namekeeper.pipeline.gold.gold_graph import gold_graph
from namekeeper.pipeline.gold.graph import Chain, Graph
from namekeeper.pipeline.gold.histories import HISTORIES
from namekeeper.pipeline.gold.plan import (
    BEGINNING,
    DAY_MS,
    FOREVER,
    KnownSpan,
    NewRecords,
    RecomputeRange,
    Window,
    common_unit,
    day_at,
    days_between,
    kept_ranges,
    plan_ranges,
    plan_windows,
)
from namekeeper.pipeline.gold.tables import GOLD, INCIDENT, KNOWN_SPAN
from namekeeper.pipeline.gold.unchanged import unchanged_tables
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import names_in

__all__ = ["find_clusters", "make_gold"]

SHORTEST_DRIFT_MS = 5_000
"""Shorter differences are propagation (docs/decisions/0012)."""
BLOCK_RECORDS = 512
"""Size of a block of seq numbers (docs/decisions/0009)."""
LEAST_SAMPLES = 5
"""Least number of registrations that gives the offset of a clock."""
LAG_LIMIT_MS = 120_000
"""A longer difference is not propagation but drift."""
FRAME_LIMIT_BYTES = 16 * 1024 * 1024
"""The largest frame of Java's remoting (protocol.md 1)."""

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
_CLUSTER_DDL = "namesrv string, namesrv_cluster string, from_ts bigint, to_ts bigint"

_TABLE_PHASES = {"session", "history", "change_log"}
"""Phases that need the sorted records of the ranges."""
SLOWEST = "topic_route"
"""The table that takes as long as all other histories: it is made beside them and beside days without
topics."""
_HISTORY_OF = {history.table.name: history for history in HISTORIES}


Periods = list[tuple[int, int]]
"""(from, to) in effective ms."""


def make_gold(
    engine: Engine, new_records: Iterable[NewRecords], *, block_records: int = BLOCK_RECORDS
) -> None:
    """Update every gold table with the new records of the facts.

    Args:
        engine: Runs the queries and keeps the tables.
        new_records: One item for each boot with new records.
        block_records: Size of a block of seq numbers; the result does not depend on it.
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
    # Before the first complete checkpoint nothing is known, and no history has a row.
    graph = gold_graph(is_first=not known)
    args = _args(engine, block_records=block_records)
    phases = ("records",) if known else ("records", "fingerprint")
    periods = _order_records(engine, graph, ranges, args, phases)
    unchanged = unchanged_tables(engine, graph, ranges, args) if known else frozenset[str]()
    for name in sorted(unchanged & {name for view in graph for name in view.reads}):
        engine.show(name, GOLD[name])
    if known and SLOWEST not in unchanged:
        _make_phase(engine, graph, "fingerprint", args)
    foreground, background, topics = _chains_of_tables(graph, unchanged)
    with (
        engine.in_background(partial(_make_each, engine, topics, args)) as wait_for_topics,
        engine.in_background(partial(_make_each, engine, background, args)),
    ):
        engine.concurrently([partial(_make_table, engine, chain, args) for chain in foreground])
        periods += _periods_of(engine, ranges)
        if known and not engine.is_there(INCIDENT):
            # An earlier version made the warehouse: its days lack the rows that incidents are made of.
            periods.append((min(span.from_ts for span in known), max(span.from_ts for span in known)))
        for window in plan_windows(periods, engine.zone, after_ms=MEMORY_MS):
            _make_window(engine, graph, window, wait_for_topics)
    _make_last_tables(engine, graph)


def _make_last_tables(engine: Engine, graph: Graph) -> None:
    """Compute the tables that need all days."""
    last = [view for view in graph if view.phase == "finish"]
    for name in sorted({name for view in last for name in view.reads if name in GOLD}):
        engine.show(name, GOLD[name])
    args = _args(
        engine, together_ms=TOGETHER_MS, late_ms=LATE_MS, memory_ms=MEMORY_MS, mass_brokers=MASS_BROKERS
    )
    _make_phase(engine, graph, "finish", args)


def _args(engine: Engine, **others: int) -> dict[str, int | str]:
    return {"forever": FOREVER, "zone": engine.zone, "shortest_ms": 1, **others}


def _order_records(
    engine: Engine,
    graph: Graph,
    ranges: Sequence[RecomputeRange],
    args: Mapping[str, Any],
    phases: Iterable[str],
) -> Periods:
    """Sort the records of the ranges, beside the steps that need no order; returns minutes of activity."""
    engine.put("recompute_range", _RANGE_DDL, ranges)
    engine.put("kept_range", _KEPT_RANGE_DDL, kept_ranges(ranges))
    minutes: Periods
    *_, minutes = engine.concurrently(
        [
            *(partial(_make_phase, engine, graph, phase, args) for phase in phases),
            partial(_sum_up_activity, engine, graph),
        ]
    )
    return minutes


def _chains_of_tables(
    graph: Graph, unchanged: Collection[str]
) -> tuple[list[Chain], list[Chain], list[Chain]]:
    """Chains that make tables: those that days need, those that no view needs, and topics."""
    foreground, background, topics = [], [], []
    chains = graph.chains(lambda view: view.phase in _TABLE_PHASES)
    for chain in filter(None, (graph.needed(chain, unchanged) for chain in chains)):
        names = {view.name for view in chain}
        if graph.maker(SLOWEST) in names:
            topics.append(chain)
        elif all(reader.name in names for view in chain for reader in graph.readers(view.name)):
            background.append(chain)
        else:
            foreground.append(chain)
    return foreground, background, topics


def _make_phase(engine: Engine, graph: Graph, phase: str, args: Mapping[str, Any]) -> None:
    """Compute all views of a phase, one after the other."""
    for chain in graph.chains(lambda view: view.phase == phase):
        make_chain(engine, chain, args)


def _make_each(engine: Engine, chains: Iterable[Chain], args: Mapping[str, Any]) -> None:
    for chain in chains:
        _make_table(engine, chain, args)


def _make_table(engine: Engine, chain: Chain, args: Mapping[str, Any]) -> None:
    """Compute a chain, unless it makes a history without any records."""
    history = _HISTORY_OF.get(chain[-1].writes or "")
    if history is None or history.fact not in FACTS or engine.is_there(FACTS[history.fact]):
        make_chain(engine, chain, args)
    else:
        engine.show(history.table.name, history.table)


def _periods_of(engine: Engine, ranges: Sequence[RecomputeRange]) -> Periods:
    """First and last effective time of the ranges."""
    periods = {row["range_id"]: (row["first_ts"], row["last_ts"]) for row in engine.rows("range_period")}
    return [periods[range_.range_id] for range_ in ranges if range_.range_id in periods]


def _sum_up_activity(engine: Engine, graph: Graph) -> Periods:
    """Sum up activity for the days with new counts; returns their minutes."""
    minute = graph["changed_minute"]
    make_chain(engine, [minute], _args(engine))
    minutes = [(row["minute"], row["minute"]) for row in engine.rows(minute.name)]
    windows = plan_windows(minutes, engine.zone, after_ms=0)
    days = [day for window in windows for day in days_between(window, engine.zone)]
    engine.put("activity_day", _DAY_DDL, days)
    from_ts, to_ts = (days[0].from_ts, days[-1].to_ts) if days else (0, 0)
    args = _args(engine, from_ts=from_ts, to_ts=to_ts, unit_ms=common_unit(days))
    for chain in graph.chains(lambda view: view.phase == "activity" and view != minute):
        make_chain(engine, chain, args, days=[day.day for day in days])
    return minutes


def _make_window(engine: Engine, graph: Graph, window: Window, wait_for_topics: Callable[[], object]) -> None:
    """Compare name servers and sum up days, for a window of consecutive days.

    Args:
        engine: Runs the queries and keeps the tables.
        graph: All views.
        window: The days.
        wait_for_topics: Returns when the rows of topics are written.
    """
    days = days_between(window, engine.zone)
    names = [day.day for day in days]
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
    of_topics = graph.from_table(SLOWEST)

    def make(phase: str, *, topics: bool) -> None:
        chains = graph.chains(lambda view: view.phase == phase and (view.name in of_topics) == topics)
        engine.concurrently([partial(make_chain, engine, chain, args, days=names) for chain in chains])

    _make_phase(engine, graph, "known", args)
    make("state", topics=False)
    make("daily", topics=False)
    wait_for_topics()
    make("state", topics=True)
    make("daily", topics=True)
    _compare_name_servers(engine, graph, cut, args)


def _compare_name_servers(engine: Engine, graph: Graph, cut: Window, args: Mapping[str, Any]) -> None:
    """Find where name servers disagree; a single one is not compared."""
    name_server = graph["name_server"]
    make_chain(engine, [name_server], args)
    labels = engine.rows(name_server.name)
    if len({row["namesrv"] for row in labels}) == 1:
        return
    engine.put("recompute_window", _WINDOW_DDL, [cut])
    engine.put("kept_window", _WINDOW_DDL, [(BEGINNING, cut.from_ts), (cut.to_ts, FOREVER)])
    find_clusters(engine, graph, cut, args, labels)
    done = {name_server.name, "shared_broker"}
    chains = graph.chains(lambda view: view.phase == "drift" and view.name not in done)
    drifting = {**args, "shortest_ms": SHORTEST_DRIFT_MS}
    engine.concurrently([partial(make_chain, engine, chain, drifting) for chain in chains])


def find_clusters(
    engine: Engine,
    graph: Graph,
    cut: Window,
    args: Mapping[str, Any],
    labels: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Make `namesrv_cluster`: the clusters of name servers on each day; only those of one are compared.

    Args:
        engine: Runs the queries.
        graph: All views.
        cut: The days.
        args: Parameters of the queries.
        labels: Rows of `name_server`: a label counts from its day on.
    """
    days = days_between(Window(day_at(cut.from_ts, engine.zone).from_ts, cut.to_ts), engine.zone)
    engine.put("compared_day", _DAY_DDL, days)
    make_chain(engine, [graph["shared_broker"]], {**args, "shared_ms": SHARED_MS})
    sharing: dict[str, dict[str, set[str]]] = {day.day: {} for day in days}
    for row in engine.rows("shared_broker"):
        broker = " ".join(row["name_servers"])
        for namesrv in row["name_servers"]:
            sharing[row["day"]].setdefault(namesrv, set()).add(broker)
    in_order = sorted(labels, key=itemgetter("from_ts"))
    found: dict[str, list[tuple[int, str]]] = {}
    for day in days:
        known = {row["namesrv"]: row["cluster_label"] or "" for row in in_order if row["from_ts"] < day.to_ts}
        for namesrv, members in namesrv_clusters(sharing[day.day], known).items():
            found.setdefault(namesrv, []).append((day.from_ts, min(members)))
    rows: list[tuple[str, str, int, int]] = []
    for namesrv, of_days in found.items():
        starts = [next(some) for _, some in groupby(of_days, itemgetter(1))]
        bounds = [BEGINNING, *(start for start, _ in starts[1:]), FOREVER]
        for (_, first), (from_ts, to_ts) in zip(starts, pairwise(bounds), strict=True):
            rows.append((namesrv, first, from_ts, to_ts))
    engine.put("namesrv_cluster", _CLUSTER_DDL, rows)
