"""Small files of a warehouse as JSON with a checksum, so that an altered bit is found."""

import json
import re
from collections.abc import Mapping
from typing import Any
from zlib import crc32

__all__ = ["decode_checked", "encode_checked", "is_count", "is_text"]

CONTAINERS_LIMIT = 4_000_000
"""Lists and objects of a file: a million data files have as many, a million boots four times as many."""
COMMAS_LIMIT = 10_000_000
"""Commas of it. Empty lists and short numbers take some hundred times their bytes in memory."""
_MEMBER = "crc"
_LENGTH = len(b',"crc":"01234567"}\n')
_LIKE_A_CHECKSUM = re.compile(rb',"[^"]{3}":"[0-9a-f]{8}"}\s*$')
"""The form of the end of a checked file; with another name it is a checksum with an altered name."""


def encode_checked(members: Mapping[str, Any]) -> bytes:
    """An object as a line of JSON, with the CRC-32 of the text before it as the last member."""
    start = json.dumps(members, separators=(",", ":")).encode()[:-1]
    return start + _end(start)


def decode_checked(data: bytes) -> dict[str, Any]:
    """The object in such a file, without the checksum. A file of the first pipelines has none.

    Raises:
        ValueError: The file was altered, is no JSON, or has more values than a warehouse of ours.
        TypeError: It is no object.
    """
    if data.count(b"[") + data.count(b"{") > CONTAINERS_LIMIT or data.count(b",") > COMMAS_LIMIT:
        raise ValueError("it has too many values")
    try:
        members = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(members, dict):
        raise TypeError("it is no object")
    has_checksum = members.pop(_MEMBER, None) is not None or _LIKE_A_CHECKSUM.search(data) is not None
    if has_checksum and data[-_LENGTH:] != _end(data[:-_LENGTH]):
        raise ValueError("its checksum is not that of its bytes")
    return members


def is_count(value: object) -> bool:
    """Whether a value of JSON is a whole number."""
    return type(value) is int


def is_text(value: object) -> bool:
    """Whether a value of JSON is a text."""
    return isinstance(value, str)


def _end(start: bytes) -> bytes:
    """The right end of a file with this beginning."""
    return b',"%b":"%08x"}\n' % (_MEMBER.encode(), crc32(start))
