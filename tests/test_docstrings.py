"""A docstring names its subject: it can be read alone, in the API reference or in an editor."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.documents.statements import statements

SOURCES = Path(__file__).resolve().parents[1] / "src" / "namekeeper"

HEADLESS = re.compile(
    r"(?:Those|Its?|They|Their|Them|That|Of|From when|Since when|Until when|About how|In which|In a row)\b"
    r"|The same(?: for| with| while| at| from| without|,|:|\.)"
)
"""Beginnings that leave the subject to the line before."""


def headless(source: str) -> Iterator[tuple[int, str]]:
    """The line and the first line of docstrings, of attributes too, that begin without a subject."""
    for node in statements(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))) if HEADLESS.match(text.strip()):
                yield node.lineno, text.strip().partition("\n")[0]


def test_docstrings_name_their_subject() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{line}: {text}"
        for path in sorted(SOURCES.rglob("*.py"))
        for line, text in headless(path.read_text())
    ]
    assert not found, "name the thing that the docstring is about:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text", ["Its name.", "Of the folder.", "Those that gave no answer.", "The same for a text of lines."]
)
def test_a_docstring_without_a_subject_is_found(text: str) -> None:
    assert [found for _, found in headless(f'x = 1\n"""{text}"""\n')] == [text]


@pytest.mark.parametrize("text", ["Name of the topic.", "The same settings, with keys.", "Items of a list."])
def test_a_docstring_with_a_subject_is_not(text: str) -> None:
    assert not list(headless(f'x = 1\n"""{text}"""\n'))
