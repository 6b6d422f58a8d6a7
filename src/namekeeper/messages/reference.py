"""The reference page of all requests, made from the catalogue: `python -m namekeeper.messages.reference`."""

import sys
from collections.abc import Collection, Iterator
from types import NoneType
from typing import Any, get_args, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from namekeeper.messages.catalogue import CATALOGUE, OLD, CatalogueEntry, Handling
from namekeeper.messages.fields import EmptyStr, Int32, Int64, LaxInt32, to_wire_name

__all__ = ["render_reference"]

_HEAD = """\
<!-- Made by `python -m namekeeper.messages.reference > docs/reference/requests.md`; a test compares. -->

# Requests

The requests to a name server, by request code. Header fields travel as text in `extFields`. Bodies are JSON
unless an entry names another form.

* If a required field is missing or empty, or a number can't be read, the server answers code 1. The remark
  names the field. The server ignores fields that are not listed.
* The server carries out one-way requests (bit 1 of `flag`) and never answers them.
* Clients from 4.9.4 on (`version` 401 and above) get standard JSON, older ones bare numbers as keys.

| answer | code | when |
| --- | --- | --- |
| SUCCESS | 0 | |
| SYSTEM_ERROR | 1 | the request can't be read, is refused by a rule, or failed; the remark says why |
| REQUEST_CODE_NOT_SUPPORTED | 3 | any code that is not on this page |
| NO_PERMISSION | 16 | 318; with [access rules](access.md) every request that they refuse |
| TOPIC_NOT_EXIST | 17 | 105: no broker has the topic |
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
_SENT = "Sent by the name server to brokers. The name server does not answer it itself."


def render_reference() -> str:
    """Render the page as Markdown."""
    entries = CATALOGUE.values()
    return _HEAD + "".join(map(_row, entries)) + "".join("".join(_section(entry)) for entry in entries)


def _row(entry: CatalogueEntry) -> str:
    since = "" if entry.since == OLD else entry.since
    anchor = f"{int(entry.code)}-{entry.name}".lower()
    return f"| [{int(entry.code)}](#{anchor}) | {entry.name} | {since} | {entry.meaning} |\n"


def _section(entry: CatalogueEntry) -> Iterator[str]:
    yield f"\n## {int(entry.code)} {entry.name}\n\n{entry.meaning[0].upper()}{entry.meaning[1:]}.\n"
    if entry.handling is Handling.SENT:
        yield f"{_SENT}\n"
    if entry.difference is not None:
        yield f"Differs from Java: {entry.difference}.\n"
    yield "\n"
    yield from _side("Request", entry.request_header, entry.request_body, entry.optional)
    yield from _side("Answer", entry.response_header, entry.response_body)


def _side(
    name: str, header: type[Struct] | None, body: str | None, optional: Collection[str] = ()
) -> Iterator[str]:
    if header is None and body is None:
        yield f"* {name}: no fields, no body.\n"
        return
    yield f"* {name}:\n"
    if header is not None:
        for line in _fields(header, optional):
            yield f"  * {line}\n"
    if body is not None:
        yield f"  * body: {body}\n"


def _fields(header: type[Struct], optional: Collection[str]) -> Iterator[str]:
    hints = get_type_hints(header, include_extras=True)
    for field in fields(header):
        notes = [_type_name(hints[field.name])]
        if field.default is NODEFAULT and field.name not in optional:
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
