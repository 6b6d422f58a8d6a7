"""Reads everything that fastjson 1 or 2 accepts as JSON, where that does no harm (protocol.md 1.11).

It is slow: `fastjson` uses it only for a text that a strict parser has refused.
"""

import re

__all__ = ["MAX_DEPTH", "DialectError", "parse"]

MAX_DEPTH = 64
"""Nested objects and arrays: the deepest body of the protocol has seven; the reader recurses for each."""

_MAX_NUMBER_CHARS = 64
"""Digits of a number: an int64 has 20; longer ones cost quadratic time and have no use."""

_BLANK = re.compile(r"(?:[ \t\r\n\f\b]|/\*.*?\*/|//[^\n]*)*+", re.DOTALL)
_BLANK_OR_COMMAS = re.compile(r"(?:[ \t\r\n\f\b,]|/\*.*?\*/|//[^\n]*)*+", re.DOTALL)
_STRINGS = {
    '"': re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL),
    "'": re.compile(r"'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL),
}
_NUMBER = re.compile(r"-?[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
_KEY = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*+|-?[0-9]++")
_WORD = re.compile(r"[a-z]++")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.)|$)", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = "\"\\'/bfnrtv01234567"
_MEANT = "\"\\'/\b\f\n\r\t\v\0\1\2\3\4\5\6\7"
_SIMPLE_ESCAPES = dict(zip(_ESCAPED, _MEANT, strict=True))
_WORDS = {"true": True, "false": False, "null": None}


class DialectError(ValueError):
    """A text that is JSON in no dialect of RocketMQ's peers, or doesn't fit the type asked for."""


def parse(text: str) -> object:
    r"""Read one document; raise DialectError for garbage and for text after the document.

    Accepted beyond the standard: bare numeric keys (they become strings), bare identifiers as keys, single
    quotes, comments, leading, doubled and trailing commas, a byte-order mark, `\xNN`, raw control
    characters. Objects that are only a `$ref` stay as they are.
    """
    return _Reader(text).document()


class _Reader:
    """A text and the position up to which it was read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith("\ufeff") else 0

    def document(self) -> object:
        value = self._value(0)
        self._skip(_BLANK)
        if self._at < len(self._text):
            raise self._error("text after the document")
        return value

    def _value(self, depth: int) -> object:
        self._skip(_BLANK)
        char = self._peek()
        if char == "{":
            return self._object(depth + 1)
        if char == "[":
            return self._array(depth + 1)
        if char in _STRINGS:
            return self._string(char)
        if char == "-" or char.isdigit():
            return self._number()
        return self._word()

    def _object(self, depth: int) -> dict[str, object]:
        self._enter(depth)
        members: dict[str, object] = {}
        while self._has_more("}", first=not members):
            key = self._key()
            self._skip(_BLANK)
            if self._peek() != ":":
                raise self._error("expected ':'")
            self._at += 1
            members[key] = self._value(depth)
        return members

    def _array(self, depth: int) -> list[object]:
        self._enter(depth)
        items: list[object] = []
        while self._has_more("]", first=not items):
            items.append(self._value(depth))
        return items

    def _enter(self, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._error(f"nested more than {MAX_DEPTH} deep")
        self._at += 1

    def _has_more(self, end: str, *, first: bool) -> bool:
        """Step over the commas before the next member; False when `end` was stepped over instead."""
        self._skip(_BLANK)
        separated = first or self._peek() == ","
        self._skip(_BLANK_OR_COMMAS)
        if self._peek() == end:
            self._at += 1
            return False
        if not separated:
            raise self._error(f"expected ',' or '{end}'")
        return True

    def _key(self) -> str:
        char = self._peek()
        if char in _STRINGS:
            return self._string(char)
        match = _KEY.match(self._text, self._at)
        if match is None:
            raise self._error("expected a key")
        self._at = match.end()
        return match[0]

    def _string(self, quote: str) -> str:
        match = _STRINGS[quote].match(self._text, self._at)
        if match is None:
            raise self._error("string without an end")
        value = match[1]
        if "\\" in value:
            value = _ESCAPE.sub(self._unescape, value)
            if _SURROGATE.search(value):
                value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        self._at = match.end()
        return value

    def _unescape(self, match: re.Match[str]) -> str:
        code = match[1] or match[2]
        if code:
            return chr(int(code, 16))
        char = _SIMPLE_ESCAPES.get(match[3])
        if char is None:
            raise self._error(f"unknown escape \\{match[3]}")
        return char

    def _number(self) -> int | float:
        match = _NUMBER.match(self._text, self._at)
        if match is None or len(match[0]) > _MAX_NUMBER_CHARS:
            raise self._error("not a number")
        self._at = match.end()
        try:
            return int(match[0])
        except ValueError:
            value = float(match[0])
        if value in (float("inf"), float("-inf")):
            raise self._error("number out of range")
        return value

    def _word(self) -> bool | None:
        match = _WORD.match(self._text, self._at)
        if match is None or match[0] not in _WORDS:
            raise self._error("expected a value")
        self._at = match.end()
        return _WORDS[match[0]]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        assert match is not None  # both patterns match the empty text
        self._at = match.end()

    def _error(self, problem: str) -> DialectError:
        return DialectError(f"not JSON: {problem} at character {self._at}")
