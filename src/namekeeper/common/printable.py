"""Makes text from strangers safe to show: on one line, and without any character that acts on a terminal.

Whatever is printed, logged or written as JSON for people goes through here: names come from peers.
"""

import re

__all__ = ["printable", "printable_json", "printable_lines"]

_LAYOUT = re.compile(r"([\n\t])")
_JSON_UNIT_DIGITS = 4


def printable(text: str) -> str:
    r"""The text with every character escaped that is not for display, as in `\x1b` or `\u202e`.

    Escaped are control characters (C0, DEL, C1), line and paragraph separators, bidi controls and other
    invisible characters of format, lone surrogates, and code points without a character. The result is one
    line. A backslash stays as it is, so the result is for reading only: it can't be turned back.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escaped(each) for each in text)


def printable_lines(text: str) -> str:
    """A text of several lines that we laid out, made harmless: line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(part if part in {"\n", "\t"} else printable(part) for part in _LAYOUT.split(text))


def printable_json(text: str) -> str:
    r"""A JSON text of the same value whose strings show such characters as JSON escapes, `\u001b`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else _escaped_in_json(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _escaped_in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(
        f"\\u{units[at : at + _JSON_UNIT_DIGITS]}" for at in range(0, len(units), _JSON_UNIT_DIGITS)
    )
