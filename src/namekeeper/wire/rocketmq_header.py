"""The header of a frame in RocketMQ's binary form, read as 5.5.0 reads it (protocol.md 1.4)."""

from struct import Struct, error

from namekeeper.errors import ProtocolError
from namekeeper.wire.codes import LanguageCode, language_name
from namekeeper.wire.command import RemotingCommand

__all__ = ["decode_rocketmq_header", "encode_rocketmq_header"]

_FIXED = Struct(">hbhii")
_INT16 = Struct(">h")
_INT32 = Struct(">i")

MAX_EXT_FIELDS = 1_000
"""Java has no limit. Requests have some dozens of fields. So many take about a millisecond. A header of 1 MiB
has room for 170,000 empty fields, which would stop the event loop for a quarter of a second."""

_NO_LANGUAGE = -1
"""A number that no peer knows: it is decoded as null and does no harm."""


def encode_rocketmq_header(command: RemotingCommand) -> bytes:
    """Write a header; raise ValueError for what the form has no room for (codes and versions are int16)."""
    language = _NO_LANGUAGE if command.language is None else LanguageCode[command.language]
    remark = (command.remark or "").encode()
    try:
        pairs = b"".join(
            _INT16.pack(len(key)) + key + _INT32.pack(len(value)) + value
            for key, value in (
                (key.encode(), value.encode()) for key, value in (command.ext_fields or {}).items()
            )
        )
        fixed = _FIXED.pack(command.code, language, command.version, command.opaque, command.flag)
    except error as problem:
        raise ValueError(f"no room in a binary header: {problem}") from None
    return b"".join((fixed, _INT32.pack(len(remark)), remark, _INT32.pack(len(pairs)), pairs))


def decode_rocketmq_header(header: bytes) -> tuple[RemotingCommand, int]:
    """Read a header and return how many of its bytes were used: for 5.x the others begin the body.

    Raises ProtocolError where 5.5.0 closes the connection, and for more than `MAX_EXT_FIELDS` fields.
    """
    try:
        return _decode(header)
    except error:
        raise ProtocolError("bad header: it ends too early") from None


def _decode(header: bytes) -> tuple[RemotingCommand, int]:
    code, language, version, opaque, flag = _FIXED.unpack_from(header)
    remark, at = _string(header, _FIXED.size, _INT32, len(header))
    (ext_length,) = _INT32.unpack_from(header, at)
    at += _INT32.size
    ext_fields = None
    if ext_length > len(header):
        raise ProtocolError("bad header: ext fields longer than the header")
    if ext_length > 0:
        ext_fields, at = _ext_fields(header, at, ext_length)
    return RemotingCommand(code, language_name(language), version, opaque, flag, remark, ext_fields), at


def _ext_fields(header: bytes, at: int, length: int) -> tuple[dict[str, str], int]:
    """Read pairs until `length` bytes are used; the last may run past that, and empty ones count as null."""
    end = at + length
    fields = {}
    count = 0
    while at < end:
        count += 1
        if count > MAX_EXT_FIELDS:
            raise ProtocolError(f"bad header: more than {MAX_EXT_FIELDS} ext fields")
        key, at = _string(header, at, _INT16, length)
        value, at = _string(header, at, _INT32, length)
        if key is not None and value is not None:
            fields[key] = value
    return fields, at


def _string(header: bytes, at: int, size: Struct, limit: int) -> tuple[str | None, int]:
    (length,) = size.unpack_from(header, at)
    if not 0 <= length <= limit:
        raise ProtocolError("bad header: string with an impossible length")
    start = at + size.size
    end = start + length
    if end > len(header):
        raise ProtocolError("bad header: it ends too early")
    return header[start:end].decode("utf-8", "replace") or None, end
