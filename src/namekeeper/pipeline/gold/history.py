"""Tables that say what a row was from when to when: the SQL that makes them.

All of them are made by the same queries (`computed_history.sql`, `merged_history.sql` and others), into which
the names of their columns are put; values never are. Which tables there are is in `histories`.
"""

from typing import NamedTuple

from namekeeper.pipeline.gold.sql_text import sql_text
from namekeeper.pipeline.table import Table, names_in

__all__ = [
    "History",
    "affected_partition_sql",
    "computed_history_sql",
    "first_rows_sql",
    "merged_history_sql",
    "overlapping_sql",
    "rewritten_sql",
]


_SPAN = ("span", "span_to_ts", "span_ended_by", "to_boot", "to_position")
"""Columns of a place that say how long it is known what it builds on."""


class History(NamedTuple):
    """A slowly changing dimension of type 2."""

    table: Table
    fact: str
    """View of what is told about its rows, in order."""
    key: tuple[str, ...]
    """Names a row beside the name server."""
    values: tuple[str, ...]
    """What it is; a difference makes a new row."""
    closing: tuple[str, ...] = ()
    """What the record that ended it adds."""
    scope: tuple[str, ...] = ("namesrv",)
    """Whose time is computed again: that of a name server, or everybody's."""
    began: tuple[str, ...] = ("from_boot", "from_seq", "from_cause", "from_peer")
    """Evidence of its begin."""
    ended: tuple[str, ...] = ("ended_by", "to_boot", "to_seq", "to_cause", "to_peer")
    """Evidence of its end."""
    checkpoint_run: str | None = None
    """View of the checkpoints that count: of those in a row that say the same of rows, the first, and others
    behind which something is told."""
    run_key: tuple[str, ...] = ()
    """Columns of what is told that say which rows it speaks of."""
    recompute: str = "recompute_range"
    """View of the times that are computed again."""
    kept: str = "kept_range"
    """View of the other times."""

    @property
    def ends(self) -> tuple[str, ...]:
        """All columns that its end decides."""
        return (*self.ended, *self.closing)


def computed_history_sql(history: History) -> str:
    """The query that makes rows from what was told, within the work."""
    own = (*history.key, *history.values, *history.closing)
    return sql_text("computed_history").format(
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


def merged_history_sql(history: History) -> str:
    """The query that joins what was computed with what is left of the rows of before."""
    own = (*history.scope, *history.key, *history.values)
    return sql_text("merged_history").format(
        table=history.table.name,
        columns=_list((*own, "valid_from", "valid_to", *history.began, *history.ends)),
        own=_list(own),
        own_o=_list(own, "o."),
        began=_list(history.began),
        began_o=",\n    ".join(map(_began_in_kept_range, history.began)),
        ends=_list(history.ends),
        ends_o=_list(history.ends, "o."),
        kept_range=history.kept,
        began_before=_began_before_range(history),
        next_values=_same_values(history, "lead"),
        scope_u=_same_scope(history, "u"),
        key=_list((*history.scope, *history.key)),
        same_values=_same_values(history, "lag"),
        last_ends=_last_ends(("valid_to", *history.ends)),
        as_table=_as_table(history, "ended"),
    )


def first_rows_sql(history: History) -> str:
    """The query for what was computed, where nothing was before: equal neighbours are one row already."""
    return _as_table(history, f"computed_{history.table.name}")


def overlapping_sql(history: History) -> str:
    """The query for the rows of before that the work concerns."""
    return sql_text("overlapping").format(table=history.table.name, overlap=_overlap(history))


def affected_partition_sql(history: History) -> str:
    """The query for the partitions that are written again."""
    return sql_text("affected_partition").format(table=history.table.name)


def rewritten_sql(history: History) -> str:
    """The query for all rows of these partitions."""
    names = tuple(names_in(history.table))
    return sql_text("rewritten").format(
        table=history.table.name,
        columns=_list(names),
        columns_o=_list(names, "o."),
        overlap=_overlap(history),
    )


def _as_table(history: History, rows: str) -> str:
    own = _list((*history.scope, *history.key, *history.values))
    return sql_text("as_table").format(
        own=own, began=_list(history.began), ends=_list(history.ends), rows=rows
    )


def _overlap(history: History) -> str:
    """Whether the work concerns a row of before."""
    return sql_text("overlap").format(recompute_range=history.recompute, scope=_same_scope(history, "w"))


def _span_columns(history: History) -> dict[str, str]:
    """What is known at a place: until the next checkpoint, or as long as checkpoints say the same."""
    if history.checkpoint_run is None:
        return {"span": _list(_SPAN, "k."), "own_span": "k.span", "run_hint": "", "run_join": ""}
    same = "".join(f" AND r.`{name}` = f.`{name}`" for name in ("namesrv", "boot", *history.run_key))
    of_run = (f"CASE WHEN r.span IS NULL THEN k.{name} ELSE r.{name} END AS {name}" for name in _SPAN)
    return {
        "span": ",\n    ".join(of_run),
        "own_span": "r.span",
        "run_hint": ", r",
        "run_join": f"\n  LEFT JOIN {history.checkpoint_run} r ON r.checkpoint = k.span{same}",
    }


def _same_scope(history: History, alias: str) -> str:
    return "".join(f"{alias}.`{name}` = o.`{name}` AND" for name in history.scope)


def _same_values(history: History, neighbour: str) -> str:
    """Whether a neighbour of a piece, `lag` or `lead`, has the same values."""
    return "\n        ".join(
        f"AND {neighbour}(`{name}`) OVER w IS NOT DISTINCT FROM `{name}`" for name in history.values
    )


def _last_ends(names: tuple[str, ...]) -> str:
    """How equal pieces end that follow each other, of which the first and the last are left: as the last."""
    return ",\n    ".join(
        f"CASE WHEN is_last = 1 THEN `{name}` ELSE lead(`{name}`) OVER w END AS `{name}`" for name in names
    )


def _began_before_range(history: History) -> str:
    """Whether what began a row was told before the work; what compares name servers has no place."""
    if "from_seq" not in history.began:
        return "true"
    return "(o.from_boot < u.to_boot OR (o.from_boot = u.to_boot AND o.from_seq < u.to_seq))"


def _began_in_kept_range(name: str) -> str:
    """What began a piece that is left; of one that was cut, the checkpoint that it begins with, if known."""
    other = f" ELSE u.{name}" if name in {"from_boot", "from_seq"} else ""
    return f"CASE WHEN o.valid_from >= u.from_ts THEN o.`{name}`{other} END AS `{name}`"


def _list(names: tuple[str, ...], prefix: str = "") -> str:
    return ", ".join(f"{prefix}`{name}`" for name in names)
