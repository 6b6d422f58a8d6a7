"""All views of gold in one graph: the files in `sql/`, and what the templates make of them for each table.

The folders of `sql/` are phases, in this order:

- `records`: the records of the ranges in order, their effective times, and the times with a known state
- `content`: evidence that an earlier run has made a table already
- `fingerprint`: short forms of the topics in checkpoints; needs no order
- `activity`: sums of activity by day; needs no order
- `session`: name servers, their boots and losses
- `history`: the rows of each name server, with their time ranges
- `change_log`: changes, and who requested them
- `known`: periods in which name servers know something; this phase and those below are computed for some days
- `cluster`: which name servers belong together
- `state`: the states of brokers and topics, from all name servers together
- `daily`: the same by day
- `drift`: where name servers disagree
- `finish`: tables that need all days

`template` has queries that are made for several tables, `fragment` has shapes that several queries share.
"""

from collections.abc import Iterator

from namekeeper.pipeline.gold.graph import Graph
from namekeeper.pipeline.gold.histories import DRIFTS, HISTORIES, TIMELINE
from namekeeper.pipeline.gold.history import computed_view, replaced_view, update_views
from namekeeper.pipeline.gold.sql_file import View, parse_view
from namekeeper.pipeline.gold.sql_text import FRAGMENT, TEMPLATE, sql_names, sql_text
from namekeeper.pipeline.gold.tables import GOLD, KNOWN_SPAN, LOST_RECORDS
from namekeeper.pipeline.schema import FACTS

__all__ = ["VALUES", "gold_graph"]

VALUES = (
    "recompute_range", "kept_range", "activity_day", "report_day", "recompute_window", "kept_window",
    "compared_day", "namesrv_cluster", "namesrv_label", "recorded_label", "labelled_period",
)  # fmt: skip
"""Small tables that Python makes: the ranges that a run recomputes, and those that it keeps; the clusters of
name servers, and their labels."""


def gold_graph(*, is_first: bool = False) -> Graph:
    """Every view of gold.

    Args:
        is_first: Whether no earlier run wrote a history: then the computed rows are written as they are.
    """
    tables = {*FACTS, *VALUES, *(f"old_{name}" for name in GOLD), *(f"added_{name}" for name in FACTS)}
    return Graph(_views(is_first=is_first), tables)


def _views(*, is_first: bool) -> Iterator[View]:
    for phase, names in sql_names().items():
        if phase not in (FRAGMENT, TEMPLATE):
            yield from (parse_view(name, phase, sql_text(name)) for name in names)
    for history in HISTORIES:
        yield computed_view(history, "history")
        yield from update_views(history, "history", is_first=is_first)
    yield from update_views(TIMELINE, "session")
    for table in (KNOWN_SPAN, LOST_RECORDS):
        yield replaced_view(table, "session")
    for history in DRIFTS:
        yield from update_views(history, "drift")
