"""How `record` states a kind and its fields, and a reader of these statements.

A statement is msgspec's own `Meta`: its description is the meaning of the field, and `extra` has the rest.
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypedDict, Unpack, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Raw, Struct
from msgspec.structs import fields

from namekeeper.common.durations import LATEST_MS

__all__ = ["FactTable", "FieldStatement", "RowPart", "Unit", "fields_of", "kind_name", "meaning_of", "stated"]


class RowPart(StrEnum):
    """The role of a field in a row of the tables."""

    KEY = "key"
    """The field identifies the row."""
    VALUE = "value"
    """The row has this value; another value makes a new row of its history."""
    GONE = "gone"
    """The field is true when the row ended."""
    END = "end"
    """How the row ended."""
    NOTE = "note"
    """About the record, not about the row: no history has it."""


class Unit(StrEnum):
    """The unit of a number."""

    MS = "ms"
    INSTANT = "ms since 1970"
    COUNT = "how many"
    NUMBER = "number"
    """An identifier, or flags: it can't be added."""
    BYTES = "bytes"


class FactTable(NamedTuple):
    """The pipeline's table that has the records of a kind."""

    name: str
    meaning: str
    grain: str = "a record"


class FieldStatement(NamedTuple):
    """A field of a record, or of the rows in it, as stated."""

    name: str
    json_type: str
    """Type of the field as the contract calls it."""
    is_required: bool
    meaning: str
    part: RowPart
    unit: Unit | None
    column: str | None
    """Meaning of its column in a table of the pipeline; None: it has no column."""
    is_int: bool
    """Whether the column has 32 bits instead of 64."""
    null: str | None
    """Meaning of null in its column; empty: `column` states it; None: a number is never null."""
    rows: type[Struct] | None
    """Fields of each of its elements, which are rows of their own."""


class Statement(TypedDict, total=False):
    """The statement of a field beside its meaning and its unit."""

    part: RowPart
    """Role of the field in a row; by default its value."""
    column: str | None
    """A sentence for readers of tables, if the first of the meaning does not suit; None: no table has it."""
    null: str
    """Meaning of null in its column; empty: the meaning states it. A number without it is never null."""
    rows: type[Struct]
    """Type of the elements if they are rows, each a list or an entry with the fields of this type."""
    is_int: bool
    """Whether the column has 32 bits."""
    is_required: bool
    """Each line has it, although there is a default."""


def stated(meaning: str, unit: Unit | None = None, **more: Unpack[Statement]) -> Meta:
    """State a field. A reader refuses a record with an instant that no calendar has.

    Args:
        meaning: A sentence for readers of journals.
        unit: The unit of its numbers.
        more: The rest of the statement.
    """
    extra = {"unit": unit, **more}
    if unit is Unit.INSTANT:
        return Meta(description=meaning, extra=extra, ge=0, le=LATEST_MS)
    return Meta(description=meaning, extra=extra)


def fields_of(kind: type[Struct]) -> Iterator[FieldStatement]:
    """The fields of a record or of a row in it, in order."""
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        hint, statement = get_args(hints[field.name])
        has_default = field.default is not NODEFAULT or field.default_factory is not NODEFAULT
        yield _field(field.name, hint, statement, is_required=not has_default)


def kind_name(kind: type[Struct]) -> str:
    """The name of a kind in the contract."""
    return str(kind.__struct_config__.tag)


def meaning_of(kind: type[Struct]) -> str:
    """The meaning of a record of a kind: the sentences of its class, in one line."""
    return " ".join((kind.__doc__ or "").split())


def _field(name: str, hint: Any, statement: Meta, *, is_required: bool) -> FieldStatement:  # noqa: ANN401 - a type
    meaning, extra = statement.description or "", statement.extra or {}
    # A member that a line lacks is null in a table; sentences after the first are about lines.
    column = extra.get("column", _SENTENCE_END.split(meaning)[0].replace("; absent", "; null"))
    return FieldStatement(
        name,
        _type_of(hint),
        is_required or extra.get("is_required", False),
        meaning,
        extra.get("part", RowPart.VALUE),
        extra["unit"],
        column,
        extra.get("is_int", False),
        extra.get("null"),
        extra.get("rows"),
    )


def _type_of(hint: Any) -> str:  # noqa: ANN401 - a type
    """The type of a field in the contract; a row of several types is a list of texts there."""
    plain = next((each for each in get_args(hint) if type(None) in get_args(hint)), hint)
    origin, args = get_origin(plain), [each for each in get_args(plain) if each is not ...]
    if origin is Mapping:
        return f"map<string,{_type_of(args[1])}>"
    if origin is list and get_origin(args[0]) is tuple:
        return "array<array<string>>"
    if origin in {list, tuple}:
        return f"array<{_type_of(args[0])}>"
    return _TYPES[plain]


_SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z])")
_TYPES: Mapping[type, str] = {str: "string", int: "long", bool: "boolean", Raw: "json"}
