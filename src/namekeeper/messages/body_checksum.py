"""The checksum of the body of REGISTER_BROKER, which its header carries (protocol.md 3.7)."""

import zlib
from collections.abc import Generator

from namekeeper.errors import RequestError
from namekeeper.wire.codes import ResponseCode

__all__ = ["CHECKED_AT_ONCE", "check_crc32", "masked_crc32"]

CHECKED_AT_ONCE = 1024 * 1024
"""Bytes whose checksum is computed in one go: less than a millisecond."""


def masked_crc32(data: bytes | memoryview, before: int = 0) -> int:
    """Return the checksum that `bodyCrc32` carries: CRC-32 without its top bit (protocol.md 3.7).

    Args:
        data: the body, or its last piece.
        before: CRC-32 of the pieces before.
    """
    return zlib.crc32(data, before) & 0x7FFF_FFFF


def check_crc32(body_crc32: int, body: bytes) -> Generator[None, None, None]:
    """Compare a header's checksum with the body; 0 means unchecked (protocol.md 3.7, trap T8).

    An event-loop iteration may end after each `CHECKED_AT_ONCE` bytes.

    Raises:
        RequestError: they differ (code 1).
    """
    if body_crc32 == 0:
        return
    left, before = memoryview(body), 0
    while len(left) > CHECKED_AT_ONCE:
        before = zlib.crc32(left[:CHECKED_AT_ONCE], before)
        left = left[CHECKED_AT_ONCE:]
        yield
    if body_crc32 != masked_crc32(left, before):
        raise RequestError(ResponseCode.SYSTEM_ERROR, "crc32 not match")
