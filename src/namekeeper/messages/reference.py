"""The reference page of all requests, made from the catalogue: `python -m namekeeper.messages.reference`."""

import sys
from collections.abc import Iterator
from types import NoneType
from typing import Any, get_args, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from namekeeper.messages.catalogue import CATALOGUE, OLD, CatalogueEntry
from namekeeper.messages.fields import EmptyStr, Int32, Int64, LaxInt32, to_wire_name
from namekeeper.wire.codes import RequestCode

__all__ = ["render_reference"]

_HEAD = """\
<!-- Made by `python -m namekeeper.messages.reference > docs/reference/requests.md`; a test compares. -->

# Requests

What a name server is asked, by request code. Header fields travel as text in `extFields`; bodies are JSON
unless it says otherwise.

* A required field that is missing or empty, or a number that can't be read, is answered with code 1
  and a remark that names the field. Fields that are not listed are ignored.
* One-way requests (bit 1 of `flag`) are carried out and never answered.
* Clients from 4.9.4 on (`version` 401 and above) get standard JSON, older ones bare numbers as keys.

| answer | code | when |
| --- | --- | --- |
| SUCCESS | 0 | |
| SYSTEM_ERROR | 1 | the request can't be read, is refused by a rule, or failed; the remark says why |
| REQUEST_CODE_NOT_SUPPORTED | 3 | any code that is not on this page |
| NO_PERMISSION | 16 | 318; with [access rules](access.md) whatever they refuse |
| TOPIC_NOT_EXIST | 17 | 105: nobody has the topic |
| QUERY_NOT_FOUND | 22 | 101, 219: there is no such entry or namespace |
| GO_AWAY | 1500 | while the server stops with `enableShutdownGracefully=true`, to versions above 475 |

## Overview

| code | name | since | what it is |
| --- | --- | --- | --- |
"""

_TYPES: dict[Any, str] = {
    str: "string",
    EmptyStr: "string, may be empty",
    Int32: "int",
    LaxInt32: "int; one that can't be read counts as its default",
    Int64: "long",
    bool: "boolean",
}
_SENT = "Sent by the name server to brokers; it does not answer it itself."
_NOT_REQUIRED: dict[int, frozenset[str]] = {
    RequestCode.GET_ROUTEINFO_BY_TOPIC: frozenset({"topic"}),  # without it: code 17, as in Java
}


def render_reference() -> str:
    """The page as Markdown."""
    entries = CATALOGUE.values()
    return _HEAD + "".join(map(_row, entries)) + "".join("".join(_section(entry)) for entry in entries)


def _row(entry: CatalogueEntry) -> str:
    since = "" if entry.since == OLD else entry.since
    anchor = f"{int(entry.code)}-{entry.name}".lower()
    return f"| [{int(entry.code)}](#{anchor}) | {entry.name} | {since} | {entry.meaning} |\n"


def _section(entry: CatalogueEntry) -> Iterator[str]:
    yield f"\n## {int(entry.code)} {entry.name}\n\n{entry.meaning[0].upper()}{entry.meaning[1:]}.\n"
    if entry.is_sent:
        yield f"{_SENT}\n"
    if entry.difference is not None:
        yield f"Differs from Java: {entry.difference}.\n"
    yield "\n"
    yield from _side("Request", entry.request_header, entry.request_body, entry.code)
    yield from _side("Answer", entry.response_header, entry.response_body)


def _side(name: str, header: type[Struct] | None, body: str | None, code: int = 0) -> Iterator[str]:
    if header is None and body is None:
        yield f"* {name}: no fields, no body.\n"
        return
    yield f"* {name}:\n"
    if header is not None:
        for line in _fields(header, _NOT_REQUIRED.get(code, frozenset())):
            yield f"  * {line}\n"
    if body is not None:
        yield f"  * body: {body}\n"


def _fields(header: type[Struct], not_required: frozenset[str]) -> Iterator[str]:
    hints = get_type_hints(header, include_extras=True)
    for field in fields(header):
        notes = [_type_name(hints[field.name])]
        if field.default is NODEFAULT and field.name not in not_required:
            notes.append("required")
        elif field.default not in {NODEFAULT, None}:
            notes.append(f"default {str(field.default).lower()}")
        yield f"`{to_wire_name(field.name)}`: {', '.join(notes)}"


def _type_name(hint: Any) -> str:  # noqa: ANN401 - annotations have no common type
    if hint in _TYPES:
        return _TYPES[hint]
    (only,) = (argument for argument in get_args(hint) if argument is not NoneType)
    return _TYPES[only]


if __name__ == "__main__":
    sys.stdout.write(render_reference())
