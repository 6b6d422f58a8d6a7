"""Histories: tables with the values of a row and their time ranges. And the views that make them.

All of them are made by the templates `sql/template/*.sql`, into which names of columns are inserted, never
values. `histories` defines all histories.
"""

from typing import NamedTuple

from namekeeper.pipeline.gold.sql_file import View, parse_view
from namekeeper.pipeline.gold.sql_text import sql_text
from namekeeper.pipeline.table import Table, names_in

__all__ = ["HistoryTable", "computed_view", "replaced_view", "update_views"]


_SPAN = ("span", "span_to_ts", "span_ended_by", "to_boot", "to_position")
"""Columns of `known_position` with the checkpoint from which the state is known, and the end of this span."""


class HistoryTable(NamedTuple):
    """A slowly changing dimension of type 2."""

    table: Table
    fact: str
    """View or fact with the records of its rows."""
    key: tuple[str, ...]
    """Columns that identify a row, besides the name server."""
    values: tuple[str, ...]
    """Columns of values; a different value makes a new row."""
    closing: tuple[str, ...] = ()
    """Columns that the record that ended a row adds."""
    scope: tuple[str, ...] = ("namesrv",)
    """Key of the recompute ranges: the name server; empty if they are common to all name servers."""
    began: tuple[str, ...] = ("from_boot", "from_seq", "from_cause", "from_peer", "from_window_ms")
    """Columns with the evidence of its start."""
    ended: tuple[str, ...] = ("ended_by", "to_boot", "to_seq", "to_cause", "to_peer", "to_window_ms")
    """Columns with the evidence of its end."""
    checkpoint_run: str | None = None
    """View of the runs of checkpoints with equal rows; None: every checkpoint counts."""
    run_key: tuple[str, ...] = ()
    """Columns that identify a run, besides the boot of a name server."""
    recompute: str = "recompute_range"
    """Table of the recompute ranges."""
    kept: str = "kept_range"
    """Table of the kept ranges."""
    certain_to: str = "valid_to"
    """The time until which a row held for certain, in SQL: a row that held too short is left out."""

    @property
    def ends(self) -> tuple[str, ...]:
        """All columns that depend on its end."""
        return (*self.ended, *self.closing)


def computed_view(history: HistoryTable, phase: str) -> View:
    """`computed_TABLE`: rows made from the records within the recompute ranges."""
    own = (*history.key, *history.values, *history.closing)
    return _view(
        "computed_history",
        f"computed_{history.table.name}",
        phase,
        table=history.table.name,
        fact=history.fact,
        key=_list(history.key),
        key_and_values=_list((*history.key, *history.values)),
        recorded=_list(own, "f."),
        **_span_columns(history),
        next_closing="".join(f",\n    lead(`{name}`) OVER w AS next_{name}" for name in history.closing),
        closing="".join(
            f",\n    CASE WHEN has_next THEN next_{name} END AS {name}" for name in history.closing
        ),
        same_values=_same_values(history, "lag"),
        last_ends=_last_ends(
            (
                "valid_to",
                "ended_by",
                "end_boot",
                "end_position",
                "to_cause",
                "to_peer",
                "to_window_ms",
                *history.closing,
            )
        ),
        closing_names="".join(f", {name}" for name in history.closing),
    )


def update_views(history: HistoryTable, phase: str, *, is_first: bool = False) -> list[View]:
    """The views that make `new_TABLE`, the rows to write, from `computed_TABLE` and the rows of earlier runs.

    Args:
        history: Its table.
        phase: The phase of the views.
        is_first: Whether there are no rows of earlier runs.
    """
    name = history.table.name
    if is_first:
        return [_table_view("first_history", f"new_{name}", phase, history)]
    return [
        _table_view("overlapping", f"overlapping_{name}", phase, history),
        _table_view("merged_history", f"merged_{name}", phase, history),
        _table_view("affected_partition", f"affected_partition_{name}", phase, history),
        _table_view("rewritten", f"new_{name}", phase, history),
    ]


def replaced_view(table: Table, phase: str) -> View:
    """`new_TABLE` of a table with one position a row: computed rows inside the ranges, old outside."""
    *_, position = table.key
    return _view(
        "replaced",
        f"new_{table.name}",
        phase,
        table=table.name,
        position=position,
        table_columns=_list(tuple(names_in(table))),
    )


def _table_view(template: str, name: str, phase: str, history: HistoryTable) -> View:
    """A view that joins computed rows with those of earlier runs."""
    own = (*history.scope, *history.key, *history.values)
    columns = tuple(names_in(history.table))
    return _view(
        template,
        name,
        phase,
        table=history.table.name,
        table_columns=_list(columns),
        table_columns_o=_list(columns, "o."),
        columns=_list((*own, "valid_from", "valid_to", *history.began, *history.ends)),
        own=_list(own),
        own_o=_list(own, "o."),
        began=_list(history.began),
        began_o=",\n    ".join(map(_began_in_kept_range, history.began)),
        ends=_list(history.ends),
        ends_o=",\n    ".join(_ended_in_kept_range(name, history) for name in history.ends),
        recompute_range=history.recompute,
        kept_range=history.kept,
        began_before=_began_before_range(history),
        scope=_same_scope(history, "w"),
        scope_u=_same_scope(history, "u"),
        key=_list((*history.scope, *history.key)),
        same_values=_same_values(history, "lag"),
        next_values=_same_values(history, "lead"),
        last_ends=_last_ends(("valid_to", *history.ends)),
        certain_to=history.certain_to,
    )


def _view(template: str, name: str, phase: str, **values: str) -> View:
    return parse_view(name, phase, sql_text(template).format(**values))


def _span_columns(history: HistoryTable) -> dict[str, str]:
    """The span of a record: until the next checkpoint, or as long as checkpoints have equal rows."""
    if history.checkpoint_run is None:
        return {
            "span": _list(_SPAN, "k."),
            "own_span": "k.span",
            "run_hint": "",
            "run_join": "",
            "run_read": "",
        }
    same = "".join(f" AND r.`{name}` = f.`{name}`" for name in ("namesrv", "boot", *history.run_key))
    of_run = (f"CASE WHEN r.span IS NULL THEN k.{name} ELSE r.{name} END AS {name}" for name in _SPAN)
    return {
        "span": ",\n    ".join(of_run),
        "own_span": "r.span",
        "run_hint": ", r",
        "run_read": f", {history.checkpoint_run}",
        "run_join": f"\n  LEFT JOIN {history.checkpoint_run} r ON r.checkpoint = k.span{same}",
    }


def _same_scope(history: HistoryTable, alias: str) -> str:
    return "".join(f"{alias}.`{name}` = o.`{name}` AND" for name in history.scope)


def _same_values(history: HistoryTable, neighbour: str) -> str:
    """Condition: the neighbour of a period, `lag` or `lead`, has the same values."""
    return "\n        ".join(
        f"AND {neighbour}(`{name}`) OVER w IS NOT DISTINCT FROM `{name}`" for name in history.values
    )


def _last_ends(names: tuple[str, ...]) -> str:
    """The end of a row made of equal periods: that of the last one, which directly follows the first."""
    return ",\n    ".join(
        f"CASE WHEN is_last = 1 THEN `{name}` ELSE lead(`{name}`) OVER w END AS `{name}`" for name in names
    )


def _began_before_range(history: HistoryTable) -> str:
    """Condition: the record that began a row lies before the range; for a drift always true."""
    if "from_seq" not in history.began:
        return "true"
    return "(o.from_boot < u.to_boot OR (o.from_boot = u.to_boot AND o.from_seq < u.to_seq))"


def _began_in_kept_range(name: str) -> str:
    """The start of a row's part in a kept range: for a cut row, the checkpoint after the cut."""
    other = f" ELSE u.{name}" if name in {"from_boot", "from_seq"} else ""
    return f"CASE WHEN o.valid_from >= u.from_ts THEN o.`{name}`{other} END AS `{name}`"


def _ended_in_kept_range(name: str, history: HistoryTable) -> str:
    """The end of a row's part in a kept range: a cut row ends at the checkpoint after the range.

    Mostly an equal row goes on there. Not if an earlier run knew nothing after this checkpoint.
    """
    if "to_seq" not in history.ended:
        return f"o.`{name}`"
    at_checkpoint = {"ended_by": "'checkpoint'", "to_boot": "u.to_boot", "to_seq": "u.to_seq"}
    is_whole = "coalesce(o.valid_to, :forever) <= u.to_ts"
    return f"CASE WHEN {is_whole} THEN o.`{name}` ELSE {at_checkpoint.get(name, 'NULL')} END AS `{name}`"


def _list(names: tuple[str, ...], prefix: str = "") -> str:
    return ", ".join(f"{prefix}`{name}`" for name in names)
