"""Java properties text <-> a dictionary, by the rules of `java.util.Properties.load` (protocol.md 5.4).

The reader of PyPI's javaproperties obeys the same rules and is the oracle of the tests. Not used here for
two reasons: its import costs a fifth of the time a name server may take to start, and its time grows with
the square of the number of continued lines, which a peer may choose (318).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from namekeeper.errors import ConfigError

__all__ = [
    "PropertyEntry",
    "as_utf8",
    "entries_of",
    "escape_key",
    "escape_value",
    "format_properties",
    "parse_properties",
    "without_byte_order_mark",
]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINES_LIMIT = 50_000
"""Most lines of a file: many times those of any broker, and read in a second."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_COMMENT_OR_BLANK = re.compile(r"[ \t\f]*(?:[#!].*)?", re.DOTALL)
_KEY = re.compile(r"((?:[^\\=: \t\f]|\\.)*)([ \t\f]*[=:]?[ \t\f]*)", re.DOTALL)
_NAME_OF_LINE = re.compile(r"[ \t\f]*([A-Za-z][\w.]*)[ \t\f]*[=:]")
_ESCAPE = re.compile(r"\\(u.{0,4}|.)", re.DOTALL)
_UNICODE = re.compile(r"u[0-9A-Fa-f]{4}")
_SURROGATES = re.compile("[\ud800-\udfff]")
_BLANKS = " \t\f"
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
_TO_ESCAPE = re.compile(r"[^ -\[\]-~]")
_TO_ESCAPE_IN_KEY = re.compile(r"[^!-\[\]-~]|[=:#!]")


class PropertyEntry(NamedTuple):
    """One entry of a text, as it is written and as it is read."""

    line: int
    """Number of its first line."""
    key: str
    separator: str
    """The text between name and value: `=` or `:` with blanks, blanks alone, or nothing."""
    value: str
    raw_value: str
    """The value with its escapes."""
    swallowed: str
    """Name at the start of the next line, if a backslash joins that line to this entry; else empty."""


def parse_properties(data: bytes | str, *, source: str = "properties") -> dict[str, str]:
    r"""Read properties; bytes are ISO-8859-1; of a key that occurs twice the last value holds.

    Raises:
        ConfigError: A malformed `\uXXXX`; the message names `source` and the line.
    """
    text = data.decode("iso-8859-1") if isinstance(data, bytes) else data
    return {entry.key: entry.value for entry in entries_of(text, source=source)}


def entries_of(text: str, *, source: str = "properties") -> Iterator[PropertyEntry]:
    """Read the entries of a text one by one.

    Raises:
        ConfigError: see `parse_properties`.
    """
    for number, line, swallowed in _logical_lines(text):
        match = _KEY.match(line)
        assert match is not None
        raw_value = line[match.end() :]
        try:
            key, value = _unescape(match.group(1)), _unescape(raw_value)
        except ValueError as error:
            raise ConfigError(f"{source}, line {number}: {error}: write \\\\ for one backslash") from None
        yield PropertyEntry(number, key, match.group(2), value, raw_value, swallowed)


def without_byte_order_mark(data: bytes, *, source: str) -> tuple[bytes, list[str]]:
    """The content of a file without the mark that some editors put before it, and a warning if it was there.

    Raises:
        ConfigError: A file in UTF-16, of which nothing could be read, or with too many lines.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:2]:
        raise ConfigError(f"{source} is in UTF-16: save it as ASCII, with \\uXXXX for other characters")
    if data.count(b"\n") + data.count(b"\r") > _LINES_LIMIT:
        raise ConfigError(f"{source} has more than {_LINES_LIMIT} lines: is it a properties file?")
    if not data.startswith(_BYTE_ORDER_MARK):
        return data, []
    warning = f"{source} begins with a byte order mark, which Java takes as a part of the first name"
    return data.removeprefix(_BYTE_ORDER_MARK), [f"{warning}: ignored here; save the file without it"]


def as_utf8(text: str) -> str:
    """A text as its author sees it, if the file is in UTF-8."""
    try:
        return text.encode("iso-8859-1").decode()
    except UnicodeError:
        return text


def format_properties(entries: dict[str, str]) -> str:
    """Write one escaped line for each entry, so that reading gives the same entries whatever they hold."""
    return "".join(f"{escape_key(key)}={escape_value(value)}\n" for key, value in entries.items())


def escape_key(key: str) -> str:
    """Escape characters that would end a key or begin a comment."""
    return _TO_ESCAPE_IN_KEY.sub(_escape, key)


def escape_value(value: str) -> str:
    """Escape a value: backslashes, line ends, leading blanks, and all that is not ASCII."""
    body = value.lstrip(" ")
    return "\\ " * (len(value) - len(body)) + _TO_ESCAPE.sub(_escape, body)


def _logical_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Join continued lines, leave out blank lines and comments.

    Returns the number of the first line, the joined line, and `PropertyEntry.swallowed`.
    """
    natural = iter(enumerate(_LINE_END.split(text), 1))
    for number, line in natural:
        if _COMMENT_OR_BLANK.fullmatch(line):
            continue
        parts, swallowed = [line.lstrip(_BLANKS)], ""
        while _is_continued(parts[-1]):
            parts[-1] = parts[-1][:-1]
            _, following = next(natural, (0, ""))
            name = _NAME_OF_LINE.match(following)
            swallowed = swallowed or (name.group(1) if name else "")
            parts.append(following.lstrip(_BLANKS))
        if logical := "".join(parts):
            yield number, logical, swallowed


def _is_continued(line: str) -> bool:
    """Say whether a line ends in an odd number of backslashes."""
    return line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    joined = _ESCAPE.sub(_unescape_one, text).encode("utf-16-le", "surrogatepass")
    # A lone surrogate can't be written as UTF-8; Java writes a question mark.
    return _SURROGATES.sub("?", joined.decode("utf-16-le", "surrogatepass"))


def _unescape_one(match: re.Match[str]) -> str:
    escape = match.group(1)
    if not escape.startswith("u"):
        return _CONTROL.get(escape, escape)
    if not _UNICODE.fullmatch(escape):
        raise ValueError(f"\\{escape} is no \\uXXXX escape")
    return chr(int(escape[1:], 16))


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if character in _ESCAPED:
        return _ESCAPED[character]
    if " " <= character <= "~":
        return "\\" + character
    units = character.encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
