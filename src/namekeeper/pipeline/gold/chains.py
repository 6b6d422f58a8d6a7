"""Computes chains of views on an engine, and writes their tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from namekeeper.pipeline.gold.engine import Engine
from namekeeper.pipeline.gold.graph import Chain
from namekeeper.pipeline.gold.sql_file import View
from namekeeper.pipeline.gold.sql_text import Views
from namekeeper.pipeline.gold.tables import GOLD, partition_column
from namekeeper.pipeline.schema import FACTS

__all__ = ["OLD", "STARTS_A_RUN", "make_chain", "runs_start_at"]

OLD = "old_"
"""Prefix of a table as earlier runs left it."""
_ADDED = "added_"
"""Prefix of a fact table with the rows of this run only."""
_AFFECTED = "affected_partition_"
"""Prefix of the view that says which partitions of a table are written again."""


STARTS_A_RUN = "{starts_a_run}"
"""The placeholder in `topic_recorded` for the condition that a checkpoint starts a run."""
_MANY_CHECKPOINTS = 64
"""With more checkpoints than this there is no condition; then only the join with checkpoint_run selects."""


def runs_start_at(views: Views) -> str:
    """The condition: the checkpoint of a row starts a run.

    Args:
        views: Has `checkpoint_run_start`.
    """
    return _is_one_of(sorted(row["checkpoint"] for row in views.rows("checkpoint_run_start")))


def _is_one_of(checkpoints: Sequence[int]) -> str:
    if len(checkpoints) > _MANY_CHECKPOINTS:
        return "checkpoint IS NOT NULL"
    return " OR ".join(f"checkpoint = {checkpoint}" for checkpoint in checkpoints) or "false"


def make_chain(
    engine: Engine, chain: Chain, args: Mapping[str, Any], *, days: Sequence[str] | None = None
) -> None:
    """Define the views of a chain; write the tables of some of them, and make these tables readable.

    Args:
        engine: Runs the queries and keeps the tables.
        chain: Views; each comes after those that it needs.
        args: Parameters of their queries.
        days: Partitions of daily tables that are written.
    """
    for name in sorted({name for view in chain for name in view.reads}):
        if name.startswith(OLD):
            engine.show(name, GOLD[name.removeprefix(OLD)])
        elif name.startswith(_ADDED):
            engine.show_added(name, FACTS[name.removeprefix(_ADDED)])
    affected: dict[str, list[str]] = {}
    for view in chain:
        engine.define(view.name, _filled(engine, view), args, keep=view.kept is not None)
        if view.name.startswith(_AFFECTED):
            affected[view.name] = _as_values(engine, view.name)
        if view.writes:
            _write(engine, view, affected, days)


def _filled(engine: Engine, view: View) -> str:
    if STARTS_A_RUN not in view.sql:
        return view.sql
    return view.sql.replace(STARTS_A_RUN, runs_start_at(engine))


def _as_values(engine: Engine, name: str) -> list[str]:
    """The days that a view finds; from now on other views read them as values."""
    days = [row["day"] for row in engine.rows(name)]
    engine.put(name, "day string", [(day,) for day in days])
    return days


def _write(engine: Engine, view: View, affected: Mapping[str, list[str]], days: Sequence[str] | None) -> None:
    assert view.writes is not None
    table = GOLD[view.writes]
    by = partition_column(table)
    if by is None:
        engine.replace(table, view.name)
    else:
        values = affected.get(f"{_AFFECTED}{table.name}", days if by == "day" else None)
        engine.replace(table, view.name, by=by, values=values)
    engine.show(table.name, table)
