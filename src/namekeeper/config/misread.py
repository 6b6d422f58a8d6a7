"""Lines of a properties file that Java reads as something else than their author meant.

Java says nothing about them. They are read by Java's rules here, too; each gives a warning with its line
number and what to write instead.
"""

import re
import unicodedata
from collections.abc import Container, Iterator, Mapping

from namekeeper.common.printable import printable
from namekeeper.config.load import SPEC_OF_NAME
from namekeeper.config.properties import PropertyEntry, as_utf8, entries_of, escape_value
from namekeeper.config.runtime import is_secret

__all__ = ["misread_lines"]

_SHOWN_CHARACTERS = 1_000
"""Most characters of a warning."""
_LINES_SHOWN = 20
"""Most warnings of a file: more of them say that it is no properties file at all."""

_SHELL_WORDS = ("export", "set", "setenv", "declare", "env", "ENV")
_NAME = re.compile(r"[\w.\-/@$\[\]]+")
_DROPPED = re.compile(r"\\(?:\\|([A-Za-tv-z0-9])|.)", re.DOTALL)
_BACKSLASHES = re.compile(r"\\+")
_QUOTES = "\"'`\u201c\u201d\u2018\u2019\u300c\u300d"
_AROUND_NAMES = f"{_QUOTES}{{}}[]<>,-"
_COMMENT_BEHIND = re.compile(r"[ \t](#|//|!)")
_VARIABLE = re.compile(r"\$\{|\$[A-Za-z]|%[A-Za-z]+%")
_NAME_OF_VARIABLE: Mapping[str, str] = {spec.variable: spec.name for spec in SPEC_OF_NAME.values()}


def misread_lines(data: bytes, *, source: str, known: Container[str] = SPEC_OF_NAME) -> list[str]:
    """Warnings about lines that are probably not what they seem, in the order of the lines.

    Args:
        data: content of the file, without a byte order mark.
        source: its name.
        known: names that have a meaning; by default those of a name server.
    """
    text = data.decode("iso-8859-1")
    seen: dict[str, int] = {}
    warnings: list[str] = []
    for entry in entries_of(text):
        if len(warnings) > _LINES_SHOWN:
            break
        if (hint := next(_hints(entry, known), None)) is not None:
            warnings.append(f"{source}, line {entry.line}: {_without_middle(printable(hint))}")
        first = seen.setdefault(entry.key, entry.line)
        if entry.key in known and first != entry.line:
            warnings.append(
                f"{source}, line {entry.line}: {entry.key} stands in line {first}, too: this one counts"
            )
    if len(warnings) > _LINES_SHOWN:
        warnings[_LINES_SHOWN:] = [f"{source}: more lines look wrong; is it a properties file?"]
    return warnings


def _without_middle(text: str) -> str:
    """A warning whose line of the file may have megabytes: begin and end of it."""
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    half = _SHOWN_CHARACTERS // 2
    return f"{text[:half]} ... {text[-half:]}"


def _hints(entry: PropertyEntry, known: Container[str]) -> Iterator[str]:
    """Yield what looks wrong in a line, the clearest problem first."""
    if not entry.key:
        yield "there is no name before the value: write name=value"
        return
    if entry.separator.isspace() or not entry.separator:
        yield from _without_separator(entry, known)
    yield from _about_name(entry, known)
    yield from _about_backslashes(entry, known)
    if entry.key in known or is_secret(entry.key):
        yield from _about_value(entry)


def _without_separator(entry: PropertyEntry, known: Container[str]) -> Iterator[str]:
    """A line that has a blank or nothing where others have `=`."""
    if entry.key in known:
        if not entry.value:
            yield f"{entry.key} has no value: write {entry.key}=value"
        return
    if entry.key in _SHELL_WORDS and "=" in entry.value:
        shown = "" if _may_be_secret(entry) else f": {entry.raw_value}"
        yield f"this is a line for a shell: write it without {entry.key}{shown}"
    shown = entry.key if _may_be_secret(entry) else as_utf8(f"{entry.key} {entry.value}".strip())
    yield f"{shown!r} is no property: write name=value, and # at the beginning of a comment"


def _about_name(entry: PropertyEntry, known: Container[str]) -> Iterator[str]:
    if entry.key in _NAME_OF_VARIABLE:
        name = _NAME_OF_VARIABLE[entry.key]
        yield f"{entry.key} is a variable of the environment: write {name}={_shown(entry, entry.raw_value)}"
    key = as_utf8(entry.key)
    if not _NAME.fullmatch(key):
        bare = key.strip(_AROUND_NAMES)
        advice = f": write {bare}={_plain(entry)}" if bare in known else ": write name=value"
        yield f"{key!r} is no name of a property{advice}"
    elif key not in known and entry.value[:1] in {"{", "["}:
        yield "this is no line of properties: write each property as name=value in its own line"


def _about_backslashes(entry: PropertyEntry, known: Container[str]) -> Iterator[str]:
    if any(match.group(1) for match in _DROPPED.finditer(entry.raw_value)):
        doubled = _BACKSLASHES.sub(r"\\\\", entry.raw_value)
        yield (
            f"a single backslash in {entry.key} is no part of the value: write two"
            f"{'' if is_secret(entry.key) else f', as in {entry.key}={doubled}'}"
        )
    if entry.swallowed in known:
        yield (
            f"it ends with a backslash, so {entry.swallowed} in the next line is a part of it: write two"
            " backslashes, or none"
        )


def _with_ascii(value: str) -> str:
    """A value with ASCII in place of wide characters, other blanks, and characters that are not shown."""
    shown = "".join(each for each in value if unicodedata.category(each) != "Cf")
    return unicodedata.normalize("NFKC", shown).replace("\u3001", ",").replace("\u3002", ".").strip()


def _about_value(entry: PropertyEntry) -> Iterator[str]:
    value = as_utf8(entry.value)
    if value and (value[0] in _QUOTES or value[-1] in _QUOTES):
        yield f"quotes are a part of the value of {entry.key}: write {entry.key}={_plain(entry)}"
    if is_secret(entry.key):
        return
    if _COMMENT_BEHIND.search(value):
        yield f"a comment is a part of the value of {entry.key}: write it in a line above, behind #"
    if not entry.raw_value.isascii():
        plain = _with_ascii(value)
        if plain.isascii():
            yield f"{entry.key} has characters that only look like ASCII: write {entry.key}={plain}"
        else:
            meant = escape_value(value)
            yield f"{entry.key} is not ASCII, and Java does not read UTF-8: write {entry.key}={meant}"
    if (spec := SPEC_OF_NAME.get(entry.key)) and spec.facts.path and _VARIABLE.search(value):
        yield f"{value} in {entry.key} is no variable here, and none for Java: write the path itself"
    if value[-1:] in {",", ";"}:
        yield f"{value[-1]} at the end of {entry.key} is a part of the value: write it without"


def _plain(entry: PropertyEntry) -> str:
    """The value without quotes and what else may stand around it."""
    return _shown(entry, as_utf8(entry.raw_value).strip(f"{_QUOTES} \t,;}}"))


def _shown(entry: PropertyEntry, text: str) -> str:
    return "..." if is_secret(entry.key) or _may_be_secret(entry) else text


def _may_be_secret(entry: PropertyEntry) -> bool:
    return is_secret(f"{entry.key} {entry.value}")
