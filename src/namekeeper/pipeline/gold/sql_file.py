"""A query of gold as a value: its text, the names that it reads, and whether an engine keeps its rows.

A file begins with a comment. It describes a row, and then has these fields, each on a line of its own:

    -- columns: the columns of the result
    -- reads: the views and tables after FROM and JOIN
    -- kept: why an engine computes its rows once and keeps them, or
    -- not kept: why not, though several views read it
    -- writes: the table that gets its rows
    -- collected: what Python does with its rows
    -- filled from: the view whose rows Python writes into the query

A long line goes on in lines that are indented by two more. `columns` and `reads` are always there, the
others where they apply. That `reads` agrees with the query is checked here; the tests compare `columns` with
what an engine finds.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from namekeeper.pipeline.gold.sql_text import body_of

__all__ = ["SqlFileError", "View", "names_read", "parse_view", "with_names"]

_FIELD = re.compile(r"^(columns|reads|kept|not kept|writes|collected|filled from): (.*)$")
_COMMENT_OR_TEXT = re.compile(r"--.*|'[^']*'")
_SOURCE = re.compile(r"(?<!DISTINCT )\b(?:FROM|JOIN)\s+([A-Za-z_]\w*)")
_CTE = re.compile(r"(?:\bWITH|,)\s+(\w+)\s+AS\s*\(")


class SqlFileError(ValueError):
    """The header of a query is incomplete, or contradicts the query."""


class View(NamedTuple):
    """A query that has a name."""

    name: str
    phase: str
    """Folder of its file."""
    sql: str
    meaning: str
    columns: tuple[str, ...]
    reads: frozenset[str]
    """Views and tables after FROM and JOIN."""
    kept: str | None = None
    """Why an engine keeps its rows; None: it does not."""
    not_kept: str | None = None
    """Why an engine does not keep its rows though several views read it."""
    writes: str | None = None
    """Table that gets its rows."""
    collected: str | None = None
    """The use that Python makes of its rows."""
    filled_from: str | None = None
    """View whose rows Python writes into the query."""


def parse_view(name: str, phase: str, text: str) -> View:
    """A view from the text of its file.

    Args:
        name: Of the view.
        phase: Folder of the file.
        text: With fragments in it, and with the columns of a table if it is a template.

    Raises:
        SqlFileError: The header is not complete, or `reads` is not what stands after FROM and JOIN.
    """
    body = body_of(text)
    meaning, fields = _header(name, text.removesuffix(body))
    for field in ("columns", "reads"):
        if field not in fields:
            raise SqlFileError(f"{name}.sql: the header has no line '-- {field}: ...'")
    if "kept" in fields and "not kept" in fields:
        raise SqlFileError(f"{name}.sql: the header says 'kept' and 'not kept'")
    reads = frozenset(_names(fields["reads"]))
    if (found := names_read(body)) != reads:
        raise SqlFileError(
            f"{name}.sql: its header and its query disagree about what it reads: only in the header:"
            f" {_listed(reads - found)}; only after FROM or JOIN: {_listed(found - reads)}"
        )
    return View(
        name,
        phase,
        body,
        meaning,
        tuple(_names(fields["columns"].replace("`", ""))),
        reads,
        kept=fields.get("kept"),
        not_kept=fields.get("not kept"),
        writes=fields.get("writes"),
        collected=fields.get("collected"),
        filled_from=fields.get("filled from"),
    )


def names_read(sql: str) -> frozenset[str]:
    """Names after FROM and JOIN, without those that a WITH of the same query defines.

    It only understands the SQL of these files; for example, it does not find tables after a comma.
    """
    plain = _COMMENT_OR_TEXT.sub("", sql)
    return frozenset(_SOURCE.findall(plain)) - frozenset(_CTE.findall(plain))


def with_names(sql: str, names: Mapping[str, str]) -> str:
    """A query with other names after FROM and JOIN, as far as `names` has them."""
    return _SOURCE.sub(lambda found: found[0].removesuffix(found[1]) + names.get(found[1], found[1]), sql)


def _header(name: str, text: str) -> tuple[str, dict[str, str]]:
    """The sentences at the beginning, and the fields after them."""
    meaning: list[str] = []
    fields: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        content = line.removeprefix("--").removeprefix(" ")
        if match := _FIELD.match(content):
            last = match[1]
            if last in fields:
                raise SqlFileError(f"{name}.sql: the header has '{last}' twice")
            fields[last] = match[2]
        elif last and content.startswith("  "):
            fields[last] += " " + content.strip()
        elif last:
            raise SqlFileError(f"{name}.sql: a sentence stands after the fields of the header: {content!r}")
        else:
            meaning.append(content)
    if not meaning:
        raise SqlFileError(f"{name}.sql: the header does not say what a row is")
    return " ".join(meaning), fields


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
