"""The names that a program gives to things: of modules, classes, functions, parameters, variables, views, columns."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.documents.statements import statements

__all__ = ["Name", "classes_of", "names_in_python", "names_in_sql", "words_of"]

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SQL_COMMENT = re.compile(r"--[^\n]*")
_SQL_TEXT = re.compile(r"'(?:[^']|'')*'")
_SQL_VIEW = re.compile(r"(?:\bWITH(?:\s+RECURSIVE)?|,)\s*(\w+)\s+AS(?:\s+MATERIALIZED)?\s*\(", re.IGNORECASE)
_SQL_COLUMN = re.compile(r"\bAS\s+(\w+)", re.IGNORECASE)
_SQL_WINDOW = re.compile(r"\bWINDOW\s+(\w+)\s+AS\b", re.IGNORECASE)


@dataclass(frozen=True)
class Name:
    """One name, and what it names."""

    kind: str
    name: str


def words_of(name: str) -> list[str]:
    """Split a name at underscores and where its case changes; all in lower case."""
    parts = [part for piece in re.split(r"[\W_]+", name) for part in _CAMEL.split(piece)]
    return [part.lower() for part in parts if part]


def classes_of(source: str) -> list[str]:
    """Return the names of all classes of a module."""
    return [node.name for node in statements(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def names_in_python(source: str) -> Iterator[Name]:
    """Find what a module names itself, not what it uses."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            yield Name("class", node.name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Name("function", node.name)
        elif isinstance(node, ast.arg):
            yield Name("parameter", node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Name("variable", node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield Name("attribute", node.attr)


def names_in_sql(query: str) -> Iterator[Name]:
    """Find the views, columns and windows that a query names itself."""
    text = _SQL_TEXT.sub("''", _SQL_COMMENT.sub("", query))
    views = set(_SQL_VIEW.findall(text))
    windows = set(_SQL_WINDOW.findall(text))
    yield from (Name("view", name) for name in sorted(views))
    yield from (Name("window", name) for name in sorted(windows))
    columns = set(_SQL_COLUMN.findall(text)) - {"materialized"}
    yield from (Name("column", name) for name in sorted(columns - views - windows))
