"""The gold tables step by step, on any engine that runs the SQL: ranges of name servers first, then days.

The views of a step, their order, and which run at the same time follow from the graph of the views
(`gold_graph`). Spark's engine is in `build`; the tests have one for DuckDB.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from namekeeper.common.expected import (
    LATE_MS,
    MASS_BROKERS,
    MEMORY_MS,
    SHORTEST_DRIFT_MS,
    TOGETHER_END_MS,
    TOGETHER_MS,
    WITNESS_AFTER_MS,
)
from namekeeper.pipeline.gold.chains import make_chain
from namekeeper.pipeline.gold.clusters import (
    Labels,
    find_clusters,
    parts_with_same_labels,
    put_labelled_periods,
    put_labels,
)
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
    days_between,
    kept_ranges,
    plan_ranges,
    plan_windows,
)
from namekeeper.pipeline.gold.sql_file import View
from namekeeper.pipeline.gold.tables import GOLD, INCIDENT, KNOWN_SPAN, NAME_SERVER_LABEL_DAILY
from namekeeper.pipeline.gold.unchanged import unchanged_tables
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import names_in

__all__ = ["make_gold"]

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

_TABLE_PHASES = {"session", "history", "change_log"}
"""Phases that need the sorted records of the ranges."""
SLOWEST = "topic_route"
"""The table that takes as long as all other histories: it is made beside them and beside days without
topics."""
COMPARING = {"registration_sample", "name_server_clock_daily", "propagation_lag"}
"""A view and tables of days without rows if there is one name server: its clock is compared with no other."""
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
    put_labelled_periods(engine)
    last = [view for view in graph if view.phase == "finish"]
    for name in sorted({name for view in last for name in view.reads if name in GOLD}):
        engine.show(name, GOLD[name])
    args = _args(
        engine,
        together_ms=TOGETHER_MS,
        together_end_ms=TOGETHER_END_MS,
        shortest_drift_ms=SHORTEST_DRIFT_MS,
        late_ms=LATE_MS,
        memory_ms=MEMORY_MS,
        mass_brokers=MASS_BROKERS,
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
    args = _prepare_days(engine, graph, window)
    name_server = graph["name_server"]
    make_chain(engine, [name_server], args)
    starts = engine.rows(name_server.name)
    clusters = find_clusters(engine, graph, _cut(window), args, starts)
    for part, labels in parts_with_same_labels(window, clusters):
        if part != window:
            args = _prepare_days(engine, graph, part)
        _sum_up_days(engine, graph, part, labels, args, wait_for_topics)
        if len(labels) > 1:
            _compare_name_servers(engine, graph, _cut(part), args)


def _cut(window: Window) -> Window:
    """The days of a window, and one before and after: corrected clocks may move changes there."""
    return Window(window.from_ts - DAY_MS, window.to_ts + DAY_MS)


def _prepare_days(engine: Engine, graph: Graph, window: Window) -> dict[str, int | str]:
    """Make the views of the phase `known` for some days; returns the parameters of all queries."""
    cut = _cut(window)
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
    _make_phase(engine, graph, "known", args)
    return args


def _sum_up_days(
    engine: Engine,
    graph: Graph,
    window: Window,
    labels: Labels,
    args: Mapping[str, Any],
    wait_for_topics: Callable[[], object],
) -> None:
    """Compute the states of brokers and topics, and their tables of days."""
    days = days_between(window, engine.zone)
    names = [day.day for day in days]
    engine.put("report_day", _DAY_DDL, days)
    put_labels(engine, labels)
    of_topics = graph.from_table(SLOWEST)
    is_labelled = any(labels.values()) or engine.is_there(NAME_SERVER_LABEL_DAILY)

    left_out = set() if is_labelled else {NAME_SERVER_LABEL_DAILY.name}
    if len(labels) == 1:
        left_out |= COMPARING
    without = {view.name for view in graph if view.name in left_out or view.writes in left_out}

    def is_wanted(view: View) -> bool:
        return view.name not in without

    def make(phase: str, *, topics: bool) -> None:
        chains = graph.chains(
            lambda view: view.phase == phase and (view.name in of_topics) == topics and is_wanted(view)
        )
        engine.concurrently([partial(make_chain, engine, chain, args, days=names) for chain in chains])

    make("state", topics=False)
    make("daily", topics=False)
    wait_for_topics()
    make("state", topics=True)
    make("daily", topics=True)


def _compare_name_servers(engine: Engine, graph: Graph, cut: Window, args: Mapping[str, Any]) -> None:
    """Find where name servers of one cluster disagree."""
    engine.put("recompute_window", _WINDOW_DDL, [cut])
    engine.put("kept_window", _WINDOW_DDL, [(BEGINNING, cut.from_ts), (cut.to_ts, FOREVER)])
    drifting = {**args, "shortest_ms": SHORTEST_DRIFT_MS}
    chains = graph.chains(lambda view: view.phase == "drift")
    engine.concurrently([partial(make_chain, engine, chain, drifting) for chain in chains])
