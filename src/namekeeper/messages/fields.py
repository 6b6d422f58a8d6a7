"""Ext fields, which are text by name, to and from typed request and response headers (protocol.md 1.10).

A header is a frozen struct whose field names are Java's in snake case. Its annotations define how the text of
a field is read; a field without a default is required. Java logs a field that is missing or malformed and
goes on with null; this server answers code 1 and names the field (traps T7, T47).
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields as struct_fields

from namekeeper.errors import RequestError
from namekeeper.wire.codes import ResponseCode

__all__ = [
    "INT32_MAX",
    "INT32_MIN",
    "INT64_MAX",
    "INT64_MIN",
    "EmptyStr",
    "Int32",
    "Int64",
    "LaxInt32",
    "decode_header",
    "encode_header",
    "parse_decimal",
    "to_wire_name",
]

Header = TypeVar("Header", bound=Struct)

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

Int32 = Annotated[int, "int32"]
"""Java's int: malformed or out of range is an error."""
Int64 = Annotated[int, "int64"]
"""Java's long: malformed or out of range is an error."""
LaxInt32 = Annotated[int, "int32, or its default"]
"""Java's int where the protocol relies on Java ignoring values that it can't read (protocol.md 3.7)."""
EmptyStr = Annotated[str, "may be empty"]
"""Text that counts as present although it is empty: a value, not a name."""

_WIRE_NAMES = {"zone_mode": "__ZONE_MODE", "zone_name": "__ZONE_NAME"}
"""The only names that are not derived."""

_DECIMAL = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MAX_DIGITS = 64
"""Leading zeros are legal in Java; no real number has more of them than this."""
_MAX_QUOTED = 64
"""Characters of a bad value that a remark repeats: the server sends it to the peer and logs it."""


def to_wire_name(field_name: str) -> str:
    """Return the ext field of a struct field: `broker_name` -> `brokerName`."""
    if field_name in _WIRE_NAMES:
        return _WIRE_NAMES[field_name]
    head, *tail = field_name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in tail)


def parse_decimal(text: str, low: int, high: int) -> int:
    """Read a number as Java's parseInt and parseLong do.

    Raises:
        ValueError: it is malformed or outside of `low` to `high`; the message completes "the field x ...".
    """
    if len(text) > _MAX_DIGITS or not _DECIMAL.fullmatch(text):
        raise ValueError(f"is not a decimal number: {_quote(text)}")
    number = int(text)
    if not low <= number <= high:
        raise ValueError(f"is out of range: {_quote(text)}")
    return number


def decode_header(header_type: type[Header], ext_fields: Mapping[str, str] | None) -> Header:
    """Build a header from ext fields; fields that the header doesn't declare are ignored.

    Raises:
        RequestError: a required field is missing or empty, or a number can't be read (code 1).
    """
    present = ext_fields or {}
    values: dict[str, Any] = {}
    for field in _plan(header_type):
        text = present.get(field.wire_name)
        if text or (text is not None and field.is_empty_allowed):
            values[field.name] = _parse_field(header_type, field, text)
        elif field.is_required:
            raise _error(header_type, field, "is missing" if text is None else "is empty")
    return header_type(**values)


def encode_header(header: Struct) -> dict[str, str]:
    """Return the ext fields of a header: absent values are left out, booleans are `true` and `false`."""
    ext_fields = {}
    for field in _plan(type(header)):
        value = getattr(header, field.name)
        if value is not None:
            ext_fields[field.wire_name] = _format_value(value)
    return ext_fields


class _Field(NamedTuple):
    name: str
    wire_name: str
    parse: Callable[[str], Any]
    is_required: bool
    is_lax: bool
    is_empty_allowed: bool


def _parse_int32(text: str) -> int:
    return parse_decimal(text, INT32_MIN, INT32_MAX)


def _parse_int64(text: str) -> int:
    return parse_decimal(text, INT64_MIN, INT64_MAX)


def _parse_bool(text: str) -> bool:
    return text.lower() == "true"


_PARSERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    EmptyStr: str,
    Int32: _parse_int32,
    Int64: _parse_int64,
    LaxInt32: _parse_int32,
    bool: _parse_bool,
}


@cache
def _plan(header_type: type[Struct]) -> tuple[_Field, ...]:
    hints = get_type_hints(header_type, include_extras=True)
    plan = []
    for field in struct_fields(header_type):
        hint = _without_none(hints[field.name])
        is_required = field.default is NODEFAULT and field.default_factory is NODEFAULT
        plan.append(
            _Field(
                name=field.name,
                wire_name=to_wire_name(field.name),
                parse=_PARSERS[hint],
                is_required=is_required,
                is_lax=hint == LaxInt32,
                is_empty_allowed=hint == EmptyStr,
            )
        )
    return tuple(plan)


def _without_none(hint: Any) -> Any:  # noqa: ANN401 - annotations have no common type
    if get_origin(hint) not in (Union, UnionType):
        return hint
    (only,) = [argument for argument in get_args(hint) if argument is not NoneType]
    return only


def _parse_field(header_type: type[Header], field: _Field, text: str) -> Any:  # noqa: ANN401 - by the plan
    try:
        return field.parse(text)
    except ValueError as error:
        if field.is_lax:
            return next(f.default for f in struct_fields(header_type) if f.name == field.name)
        raise _error(header_type, field, str(error)) from None


def _error(header_type: type[Struct], field: _Field, why: str) -> RequestError:
    remark = f"{header_type.__name__}: the field {field.wire_name} {why}"
    return RequestError(ResponseCode.SYSTEM_ERROR, remark)


def _format_value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _quote(text: str) -> str:
    return repr(text if len(text) <= _MAX_QUOTED else text[:_MAX_QUOTED] + "...")
