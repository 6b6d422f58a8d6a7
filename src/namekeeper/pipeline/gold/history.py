"""Histories: tables that say what a row was from when to when. The views that make them.

All of them are made by the templates `sql/template/*.sql`, into which the names of their columns are put;
values never are. Which histories there are is in `histories`.
"""

from typing import NamedTuple

from namekeeper.pipeline.gold.sql_file import View, parse_view
from namekeeper.pipeline.gold.sql_text import sql_text
from namekeeper.pipeline.table import Table, names_in

__all__ = ["History", "computed_view", "replaced_view", "update_views"]


_SPAN = ("span", "span_to_ts", "span_ended_by", "to_boot", "to_position")
"""Columns of `known_position` that say from which checkpoint on, and until when, the state is known."""


class History(NamedTuple):
    """A slowly changing dimension of type 2."""

    table: Table
    fact: str
    """View or fact of what is recorded about its rows."""
    key: tuple[str, ...]
    """Columns that name a row, beside the name server."""
    values: tuple[str, ...]
    """What a row says; a difference makes a new row."""
    closing: tuple[str, ...] = ()
    """Columns that the record that ended a row adds."""
    scope: tuple[str, ...] = ("namesrv",)
    """Columns that say whose time is recomputed: of one name server; empty: of all of them together."""
    began: tuple[str, ...] = ("from_boot", "from_seq", "from_cause", "from_peer")
    """Columns with the evidence of its begin."""
    ended: tuple[str, ...] = ("ended_by", "to_boot", "to_seq", "to_cause", "to_peer")
    """Columns with the evidence of its end."""
    checkpoint_run: str | None = None
    """View of the runs of checkpoints that say the same of rows; None: every checkpoint counts."""
    run_key: tuple[str, ...] = ()
    """Columns that name a run, beside the boot of a name server."""
    recompute: str = "recompute_range"
    """Table of the times that are recomputed."""
    kept: str = "kept_range"
    """Table of the other times."""

    @property
    def ends(self) -> tuple[str, ...]:
        """All columns that its end decides."""
        return (*self.ended, *self.closing)


def computed_view(history: History, phase: str) -> View:
    """`computed_TABLE`: rows made from what is recorded within the recompute ranges."""
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
            ("valid_to", "ended_by", "end_boot", "end_position", "to_cause", "to_peer", *history.closing)
        ),
        closing_names="".join(f", {name}" for name in history.closing),
    )


def update_views(history: History, phase: str, *, is_first: bool = False) -> list[View]:
    """The views that make `new_TABLE`, the rows to write, from `computed_TABLE` and the rows of earlier runs.

    Args:
        history: Its table.
        phase: Of the views.
        is_first: There are no rows of earlier runs.
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
    """`new_TABLE` of a table of positions in the order: computed rows within the ranges, old ones outside."""
    *_, position = table.key
    return _view(
        "replaced",
        f"new_{table.name}",
        phase,
        table=table.name,
        position=position,
        table_columns=_list(tuple(names_in(table))),
    )


def _table_view(template: str, name: str, phase: str, history: History) -> View:
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
        ends_o=_list(history.ends, "o."),
        recompute_range=history.recompute,
        kept_range=history.kept,
        began_before=_began_before_range(history),
        scope=_same_scope(history, "w"),
        scope_u=_same_scope(history, "u"),
        key=_list((*history.scope, *history.key)),
        same_values=_same_values(history, "lag"),
        next_values=_same_values(history, "lead"),
        last_ends=_last_ends(("valid_to", *history.ends)),
    )


def _view(template: str, name: str, phase: str, **values: str) -> View:
    return parse_view(name, phase, sql_text(template).format(**values))


def _span_columns(history: History) -> dict[str, str]:
    """The span of a record: until the next checkpoint, or as long as checkpoints say the same."""
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


def _same_scope(history: History, alias: str) -> str:
    return "".join(f"{alias}.`{name}` = o.`{name}` AND" for name in history.scope)


def _same_values(history: History, neighbour: str) -> str:
    """Condition: the neighbour of a period, `lag` or `lead`, has the same values."""
    return "\n        ".join(
        f"AND {neighbour}(`{name}`) OVER w IS NOT DISTINCT FROM `{name}`" for name in history.values
    )


def _last_ends(names: tuple[str, ...]) -> str:
    """The end of a row made of equal periods: as the last of them, which stands behind the first."""
    return ",\n    ".join(
        f"CASE WHEN is_last = 1 THEN `{name}` ELSE lead(`{name}`) OVER w END AS `{name}`" for name in names
    )


def _began_before_range(history: History) -> str:
    """Condition: what began a row was recorded before the range. A drift has no position: always."""
    if "from_seq" not in history.began:
        return "true"
    return "(o.from_boot < u.to_boot OR (o.from_boot = u.to_boot AND o.from_seq < u.to_seq))"


def _began_in_kept_range(name: str) -> str:
    """What began the part of a row in a kept range: for a row that was cut, the checkpoint behind the cut."""
    other = f" ELSE u.{name}" if name in {"from_boot", "from_seq"} else ""
    return f"CASE WHEN o.valid_from >= u.from_ts THEN o.`{name}`{other} END AS `{name}`"


def _list(names: tuple[str, ...], prefix: str = "") -> str:
    return ", ".join(f"{prefix}`{name}`" for name in names)
