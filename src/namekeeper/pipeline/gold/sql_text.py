"""Reads the SQL of the pipeline, which is data of the package; and the interface of an engine that runs it.

Each query is a file in the folder of its phase. `sql_file` describes its header, `gold_graph` the phases. A
shape that several queries have is a fragment, a file in `sql/fragment`. A query includes it by comment lines,
which are replaced by the text of the fragment:

    -- include: islands,
    --   rows: remembered_period
    --   key: namesrv, cluster

Each line below the first gives a value: `$key` in the fragment becomes `namesrv, cluster`. A long value goes
on in lines that are indented by two more. A comma after the name of the fragment stays after its text.

Queries in `sql/template` have names in braces, which `history` fills with the columns of a table. In every
query `row_columns` fills placeholders with the fields of a record.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template
from typing import Any, Protocol

from namekeeper.pipeline.row_columns import with_columns
from namekeeper.pipeline.table import Table

__all__ = ["FRAGMENT", "TEMPLATE", "Views", "body_of", "raw_text", "sql_names", "sql_text"]

FRAGMENT = "fragment"
"""The folder of fragments."""
TEMPLATE = "template"
"""The folder of queries that are made for several tables."""

_INCLUDE = re.compile(
    r"^ *-- include: (?P<name>\w+)(?P<comma>,?)\n(?P<values>(?: *--   .*\n)*)", re.MULTILINE
)
_VALUE = re.compile(r"^ *--   (?:(?P<key>\w+): (?P<first>.*)|  (?P<more>.*))$", re.MULTILINE)
_HEADER = re.compile(r"\A(?:--(?! include:).*\n)*")


class Views(Protocol):
    """An engine that runs SQL over tables; Spark, or DuckDB in tests."""

    zone: str
    """Time zone that defines a day."""

    def define(self, name: str, sql: str, args: Mapping[str, Any], *, keep: bool = False) -> None:
        """Define a query as a view. `keep`: compute its rows now and keep them."""

    def put(self, name: str, ddl: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Make a small table of values, of types string and bigint."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a small table."""

    def show(self, name: str, table: Table) -> None:
        """Make the present rows of a table readable by its name."""


def sql_names() -> Mapping[str, Sequence[str]]:
    """Folder -> names of the files in it, both sorted."""
    found: dict[str, list[str]] = {}
    for name, path in sorted(_paths().items()):
        found.setdefault(path.parent, []).append(name)
    return dict(sorted(found.items()))


def sql_text(name: str) -> str:
    """The text of a query, with the text of its fragments in it.

    Args:
        name: Of the file, without folder and ending.
    """
    return with_columns(_included(raw_text(name)))


def raw_text(name: str) -> str:
    """The text of a file, read from a folder or from a zip.

    Args:
        name: Of the file, without folder and ending.
    """
    return _read(name)


def body_of(text: str) -> str:
    """The text of a file without the comment at its beginning."""
    return _HEADER.sub("", text, count=1)


def _included(text: str) -> str:
    return _INCLUDE.sub(_fragment, text)


def _fragment(include: re.Match[str]) -> str:
    values: dict[str, str] = {}
    key = ""
    for line in _VALUE.finditer(include["values"]):
        if line["key"]:
            key = line["key"]
            values[key] = line["first"]
        else:
            values[key] += "\n" + line["more"]
    # Fragments inside the fragment come first: their values may be names that are filled only here.
    body = _included(body_of(raw_text(include["name"])))
    return Template(body).substitute(values).rstrip("\n") + include["comma"] + "\n"


class _Path:
    def __init__(self, parent: str, file: Traversable) -> None:
        self.parent = parent
        self.file = file


@cache
def _paths() -> Mapping[str, _Path]:
    folders = [entry for entry in (files("namekeeper.pipeline.gold") / "sql").iterdir() if entry.is_dir()]
    found = [(folder.name, file) for folder in folders for file in folder.iterdir()]
    return {file.name.removesuffix(".sql"): _Path(folder, file) for folder, file in found}


@cache
def _read(name: str) -> str:
    return _paths()[name].file.read_text(encoding="utf-8")
