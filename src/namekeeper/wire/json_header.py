"""The header of a frame as JSON, also as peers write it wrongly (protocol.md 1.3, 1.5, 1.11)."""

import re

import msgspec
from msgspec import UNSET, Struct, UnsetType

from namekeeper.errors import ProtocolError
from namekeeper.wire.codes import LanguageCode, LanguageName, language_name
from namekeeper.wire.coercion import scalar_text
from namekeeper.wire.command import RemotingCommand
from namekeeper.wire.fastjson import DialectError, loads

__all__ = ["STRICT_ERRORS", "decode_json_header", "decode_leniently", "decode_strictly", "encode_json_header"]

STRICT_ERRORS = (ValueError, RecursionError)
"""Errors of `decode_strictly`; msgspec's and UnicodeDecodeError are ValueErrors."""

_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_MAX_NUMBER_CHARS = 32
_FRACTION = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")

decode_strictly = msgspec.json.Decoder(RemotingCommand).decode
"""Decode a header as well-behaved peers write it; `body` is not set."""


class _JsonHeader(Struct, gc=False, rename="camel"):
    """A header in Java's order of keys."""

    code: int
    ext_fields: dict[str, str] | UnsetType
    flag: int
    language: str | UnsetType
    opaque: int
    remark: str | UnsetType
    serialize_type: str = msgspec.field(name="serializeTypeCurrentRPC")
    version: int


_encode = msgspec.json.Encoder().encode


def encode_json_header(command: RemotingCommand) -> bytes:
    """Write a header as Java does: keys in order, no blanks, no members that are None (protocol.md 1.3)."""
    return _encode(
        _JsonHeader(
            command.code,
            UNSET if command.ext_fields is None else command.ext_fields,
            command.flag,
            UNSET if command.language is None else command.language,
            command.opaque,
            UNSET if command.remark is None else command.remark,
            "JSON",
            command.version,
        )
    )


def decode_json_header(header: bytes) -> RemotingCommand:
    """Read a header, leniently if needed; raise ProtocolError where Java closes the connection.

    `body` is not set.
    """
    try:
        return decode_strictly(header)
    except STRICT_ERRORS:
        return decode_leniently(header)


def decode_leniently(header: bytes) -> RemotingCommand:
    """Read a header as leniently as the most lenient Java server (protocol.md 1.11).

    Values become what fastjson 2 makes of them. Numbers and strings become each other, fractions are cut
    off, and objects and arrays become the text of their JSON. `null` counts as a missing member, and `null`
    ext fields are left out. Languages come by ordinal too; unknown languages are None.
    """
    try:
        members = loads(header)
    except DialectError as error:
        raise ProtocolError(f"bad header: {error}") from None
    if not isinstance(members, dict):
        raise ProtocolError("bad header: not a JSON object")
    return RemotingCommand(
        code=_int32(members, "code"),
        language=_language(members.get("language")),
        version=_int32(members, "version"),
        opaque=_int32(members, "opaque"),
        flag=_int32(members, "flag"),
        remark=_text(members.get("remark")),
        ext_fields=_ext_fields(members.get("extFields")),
    )


def _int32(members: dict[str, object], name: str) -> int:
    value = members.get(name)
    if value is None or value == "":
        return 0
    number = _integer(value)
    if number is None or not _INT32_MIN <= number <= _INT32_MAX:
        raise ProtocolError(f"bad header: {name} is not an int32")
    return number


def _integer(value: object) -> int | None:
    """Read a number in any notation; a fraction is cut off."""
    if isinstance(value, (int, float)):
        return int(value)
    if not isinstance(value, str) or len(value) > _MAX_NUMBER_CHARS:
        return None
    if value.lstrip("+-").isdecimal():
        try:
            return int(value)
        except ValueError:  # more than one sign
            return None
    return int(float(value)) if _FRACTION.fullmatch(value) else None


def _language(value: object) -> LanguageName | None:
    if value is None:
        return None
    if isinstance(value, str):
        code = LanguageCode.__members__.get(value)
        return None if code is None else language_name(code)
    name = None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        name = language_name(int(value))
    if name is None:
        raise ProtocolError("bad header: language is neither a name nor an ordinal")
    return name


def _text(value: object) -> str | None:
    """Turn a value into the text of the field; an object or array becomes its JSON."""
    text = scalar_text(value)
    if text is None or isinstance(text, str):
        return text
    try:
        return _encode(text).decode()
    except RecursionError as error:
        raise ProtocolError(f"bad header: {error}") from None


def _ext_fields(value: object) -> dict[str, str] | None:
    if value is None or value == "":
        return None
    if not isinstance(value, dict):
        raise ProtocolError("bad header: extFields is not an object")
    fields = {key: _text(item) for key, item in value.items()}
    return {key: text for key, text in fields.items() if text is not None}
