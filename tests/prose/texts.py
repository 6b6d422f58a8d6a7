"""The prose of source files as Markdown, each line where it stands in its file."""

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator

__all__ = ["prose_of_python", "prose_of_sql"]

_DIRECTIVE = re.compile(r"#\s*(?:type:|noqa|fmt:|pragma|!)")
_SECTION = re.compile(r"^(?:Args|Returns|Raises|Yields|Attributes|Examples?):$")
_ARGUMENT = re.compile(r"^ +\*{0,2}\w+: ")
_TREE = re.compile(r"[├└│]")
_SQL_HEADER = re.compile(r"-- \w+:")


def prose_of_python(source: str) -> str:
    """Return docstrings, of attributes too, and comments; blank lines stand for code."""
    lines = [""] * (source.count("\n") + 1)
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                for number, line in enumerate(_docstring(text), node.lineno - 1):
                    lines[number] = line
            case _:
                pass
    for number, comment in _comments(source):
        lines[number - 1] = comment
    return _joined(lines)


def prose_of_sql(source: str) -> str:
    """Return the comments of a query, up to its header of columns and sources."""
    lines, in_header = [], False
    for line in source.splitlines():
        in_header = line.startswith("--") and (in_header or bool(_SQL_HEADER.match(line)))
        lines.append("" if in_header else line.partition("-- ")[2])
    return _joined(lines)


def _joined(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _docstring(text: str) -> Iterator[str]:
    """Take the indentation away, and make an item of a list of each argument."""
    first, _, rest = text.partition("\n")
    in_section = False
    yield first.strip()
    for line in textwrap.dedent(rest).splitlines():
        in_section = in_section or bool(_SECTION.match(line))
        if _SECTION.match(line) or _TREE.search(line):
            yield ""
        else:
            yield _ARGUMENT.sub("- ", line, count=1) if in_section else line


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Return comments with their lines; a comment after code is an item by itself."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not _DIRECTIVE.match(token.string):
            text = token.string.lstrip("#").strip()
            yield token.start[0], text if not token.line[: token.start[1]].strip() else f"- {text}"
