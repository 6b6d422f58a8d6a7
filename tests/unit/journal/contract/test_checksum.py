"""An altered line is a damaged line, whichever bit of it was altered."""

import json
from zlib import crc32

import pytest

from namekeeper.journal.contract.checksum import Checksum, check_line, with_checksum
from namekeeper.journal.contract.encode import Stamp, encode_record
from namekeeper.journal.contract.lines import split_lines
from namekeeper.journal.contract.record import Kv, Record, ServerAlive, TopicQueues

STAMP = Stamp("ns", 1_700_000_000_000, 7, 1_700_000_000_500, 500)
RECORDS: tuple[Record, ...] = (
    ServerAlive(connections=3),
    Kv(namespace="n", key="12345678"),
    TopicQueues(broker_name="b", rows=[("T", 4, 4, 6, 0)]),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.kind)
def test_no_bit_of_a_line_can_be_altered_unnoticed(record):
    line = encode_record(record, STAMP)[:-1]
    assert check_line(line) is Checksum.RIGHT
    for position in range(len(line)):
        for bit in range(8):
            altered = bytearray(line)
            altered[position] ^= 1 << bit
            checksum = check_line(bytes(altered))
            assert checksum is not Checksum.RIGHT
            assert checksum is Checksum.WRONG or not is_json(altered), bytes(altered)


def is_json(data):
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def test_the_checksum_is_the_one_of_gzip_and_the_last_member():
    line = with_checksum(b'{"kind":"a"}')
    assert line == b'{"kind":"a","crc":"%08x"}\n' % crc32(b'{"kind":"a"')
    assert list(json.loads(line)) == ["kind", "crc"]


@pytest.mark.parametrize(
    "line", [b"", b"{}", b'{"kind":"kv","namespace":"n","key":"12345678"}', b'{"kind":"server_alive","v":1}']
)
def test_a_line_of_the_first_writers_has_none(line):
    assert check_line(line) is Checksum.ABSENT


def test_a_line_that_lost_its_checksum_is_damaged_if_the_lines_before_it_have_one():
    lines = [encode_record(record, STAMP) for record in RECORDS]
    without = lines[1][: -len(b',"crc":"01234567"}\n')] + b"}\n"
    assert [bool(line.problem) for line in split_lines([without, without])] == [False, False]
    problems = [line.problem for line in split_lines([lines[0], without, lines[2]])]
    assert problems == ["", "altered: it has no checksum, and lines before it have one", ""]
