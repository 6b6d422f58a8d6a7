"""Recognises what people copy into a file from guides, chats and word processors.

The advice never repeats a value, because the file may hold secrets.
"""

import json
import re
from functools import partial

__all__ = ["TYPOGRAPHIC_QUOTES", "advice_for_json", "advice_for_toml", "remarks_on_json"]

TYPOGRAPHIC_QUOTES = "\u201c\u201d\u201e\u201f\u2018\u2019\u201a\u201b\u300c\u300d\u00ab\u00bb\uff02"
"""Quotes that word processors, chats and guides put in the place of straight ones."""

_NAME_SHOWN = 64
_HAS_QUOTES = re.compile(f"[{TYPOGRAPHIC_QUOTES}]")
_YAML = re.compile(r"\s*(?:-\s+)?([\w.\-]+)\s*:(?:\s|$)")
_YAML_ITEM = re.compile(r"\s*-(?:\s|$)")
_YAML_DOCUMENT = re.compile(r"\s*---")
_ASSIGNED = re.compile(r"\s*([\w.\-]+)\s*=\s*(.*)")
_BOOLEAN = re.compile(r"(?i)(true|false|yes|no|on|off)\s*(#.*)?$")
_TRUE = ("true", "yes", "on")
_COMMENT = re.compile(r"\s*(//|;|/\*|!)")
_PROPERTY = re.compile(r"\s*[\w.\-]+\s*=")


def advice_for_toml(line: str, problem: str) -> str:
    """Return a correction of a line that a reader of TOML refused; empty if nothing is recognised.

    Args:
        line: the one that the reader stopped at.
        problem: what the reader said.
    """
    advice = _advice_for_other_language(line)
    found = _ASSIGNED.match(line)
    if advice or found is None:
        return advice
    name, value = _shown(found[1]), found[2].strip()
    if "overwrite" in problem:
        return f"{name} stands in an earlier line, too: keep one of them"
    if "\\" in value and value[:1] == '"':
        return "write two backslashes for one, or 'single quotes' around the value"
    return _advice_for_value(name, value)


def advice_for_json(text: str, line: str) -> str:
    """Return a correction of a line that a reader of JSON refused; empty if nothing is recognised.

    Args:
        text: the whole text.
        line: the one that the reader stopped at.
    """
    if _HAS_QUOTES.search(line):
        return 'these quotes are typographic: write "straight" ones'
    if not text.strip("\ufeff \t\r\n"):
        return "it is empty"
    if text.lstrip("\ufeff \t\r\n")[0] in {"{", "["}:
        return ""
    if _YAML.match(line) or _YAML_DOCUMENT.match(line):
        return 'this looks like YAML: write JSON, { "name": value }'
    if _PROPERTY.match(line):
        return 'this looks like a line of properties: write JSON, { "name": value }'
    return 'a JSON document begins with {, as in { "name": value }'


def remarks_on_json(data: bytes) -> list[str]:
    """Return what RocketMQ's reader of JSON takes in a text and most others refuse, a line for each kind.

    Args:
        data: a file that could be read.
    """
    remarks = []
    if data.startswith(b"\xef\xbb\xbf"):
        remarks.append("line 1: it begins with a byte order mark: save it as UTF-8 without one")
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        line = text.count("\n", 0, text.index("\ufffd")) + 1
        remarks.append(f"line {line}: it has bytes that are no UTF-8: save it as UTF-8")
    repeated: list[str] = []
    try:
        json.loads(text, strict=False, object_pairs_hook=partial(_members, repeated))
    except ValueError as error:
        at = getattr(error, "pos", 0)
        why = _why_not_strict(text, at)
        remarks.append(f"line {text.count(chr(10), 0, at) + 1}: {why}")
    remarks += [
        f"line {_line_of_last(text, name)}: {_shown(name)!r} stands in it twice, and the last one counts:"
        " leave one out"
        for name in dict.fromkeys(repeated)
    ]
    return remarks


def _members(repeated: list[str], pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            repeated.append(name)
        found[name] = value
    return found


def _why_not_strict(text: str, at: int) -> str:
    """Describe the text at which a strict reader stopped."""
    rest = text[at:].lstrip() or text[:at].rstrip()[-1:]
    before = text[:at].rstrip()[-1:]
    if rest.startswith("'"):
        return 'it has single quotes: write "straight double" ones'
    if rest.startswith(("//", "/*", "#")):
        return "it has a comment, which JSON lacks: leave it out"
    if rest.startswith(("}", "]", ",")) or (before == "," and rest[:1] in {"}", "]"}):
        return "it has a comma with nothing behind it: leave it out"
    if rest[:1].isalpha() or rest[:1] in {"_", "$"}:
        return 'it has a name without quotes: write "name"'
    return "it is not JSON as other programs read it: they stop here"


def _line_of_last(text: str, name: str) -> int:
    return text.count("\n", 0, max(text.rfind(json.dumps(name)), text.rfind(f'"{name}"'), 0)) + 1


def _advice_for_other_language(line: str) -> str:
    advice = ""
    if _HAS_QUOTES.search(line):
        advice = 'these quotes are typographic: write "straight" ones'
    elif _COMMENT.match(line):
        advice = "write # before a comment"
    elif line.lstrip()[:1] in {"{", "}"}:
        advice = 'this is no TOML but looks like JSON: write name = "value" in a line of its own'
    elif found := _YAML.match(line):
        advice = f"this is no TOML but looks like YAML: write {_shown(found[1])} = ... for it"
    elif _YAML_ITEM.match(line) or _YAML_DOCUMENT.match(line):
        advice = "this is no TOML but looks like YAML: write name = value, and [[rule]] before each rule"
    return advice


def _advice_for_value(name: str, value: str) -> str:
    if not value or value.startswith("#"):
        return f"{name} has no value: write {name} = ..., or leave the line out"
    if found := _BOOLEAN.match(value):
        return f"write {name} = {'true' if found[1].lower() in _TRUE else 'false'}"
    if value[0] not in "\"'[{" and not value[0].isdigit():
        return f'write the value in quotes: {name} = "..."'
    return ""


def _shown(name: str) -> str:
    return name[:_NAME_SHOWN]
