"""The checksum at the end of each line of a journal.

A record that was altered on the disk is mostly still valid JSON. The checksum shows that it is not what was
written: such a line is damaged, like one that is torn.
"""

from enum import Enum
from zlib import crc32

__all__ = ["Checksum", "check_line", "is_right", "with_checksum"]

_BEGIN = b',"crc":"'
_LENGTH = len(b',"crc":"01234567"}')
_VALUE_AT = -len(b'01234567"}')
_OTHER_NAME = b',"key":"'
"""A `kv` record without a value may end with this member and eight letters."""


class Checksum(Enum):
    """The result of comparing a line with the checksum at its end."""

    RIGHT = "right"
    WRONG = "wrong"
    """The bytes or the checksum were altered."""
    ABSENT = "absent"
    """The line has none: the first writers wrote none."""


def with_checksum(record: bytes) -> bytes:
    """The line of an encoded record: with its checksum as the last member, and a line feed."""
    start = record[:-1]
    return b'%b,"crc":"%08x"}\n' % (start, crc32(start))


def is_right(data: bytes) -> bool:
    """Whether a line, without its line feed, has a checksum that is right."""
    return data[-_LENGTH:] == b',"crc":"%08x"}' % crc32(data[:-_LENGTH])


def check_line(data: bytes) -> Checksum:
    """Compare a line, without its line feed, with its checksum.

    If the end has the form of a checksum but another member name, the name was altered.
    """
    begin = data[-_LENGTH:_VALUE_AT]
    if begin == _BEGIN:
        value = b'%08x"}' % crc32(memoryview(data)[:-_LENGTH])
        return Checksum.RIGHT if data[_VALUE_AT:] == value else Checksum.WRONG
    if begin[:2] == b',"' and begin[5:] == b'":"' and begin != _OTHER_NAME and data[-2:] == b'"}':
        return Checksum.WRONG
    return Checksum.ABSENT
