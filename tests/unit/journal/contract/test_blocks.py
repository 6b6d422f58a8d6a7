"""Blocks: whatever gzip reads is what was packed, and a summary counts only if it is as it was written."""

import gzip
import os
import struct
import tracemalloc
import zlib
from random import Random

import msgspec
import pytest
from msgspec import structs

from namekeeper.journal.contract import blocks
from namekeeper.journal.contract.blocks import Block, BlockPacker, parts_of
from namekeeper.journal.contract.checksum import with_checksum
from namekeeper.journal.contract.names import SegmentName

SEGMENT = SegmentName(namesrv="n", uuid8="0a1b2c3d", boot=5, first_seq=1)


def line(seq: int, kind: str = "denied", **members) -> bytes:
    record = {
        "kind": kind, "v": 1, "namesrv": "n", "boot": 5, "seq": seq, "change": seq, "end": True,
        "ts": 100 + seq, "up_ms": seq, **members,
    }  # fmt: skip
    return with_checksum(msgspec.json.encode(record))


def packed(lines: list[bytes], block_bytes: int = 1_000, step: int = 700) -> bytes:
    packer, text = BlockPacker(SEGMENT, block_bytes), b"".join(lines)
    parts = [packer.add(text[at : at + step]) for at in range(0, len(text), step)]
    return b"".join(parts) + packer.finish()


def parts(data: bytes, segment: SegmentName = SEGMENT, chunk: int = 333) -> list[Block | bytes]:
    """Blocks, and the rest as one text."""
    chunks = (data[at : at + chunk] for at in range(0, len(data), chunk))
    return [part if isinstance(part, Block) else b"".join(part) for part in parts_of(chunks, segment)]


def summaries(lines: list[bytes], block_bytes: int = 1_000):
    return [part.summary for part in parts(packed(lines, block_bytes))]


LINES = [line(seq) for seq in range(1, 40)]
PACKED = packed(LINES)


def test_every_program_that_unpacks_gzip_reads_it():
    assert gzip.decompress(PACKED) == b"".join(LINES)


def test_blocks_have_the_text_and_say_what_is_in_it():
    blocks = parts(PACKED)
    assert b"".join(block.text() for block in blocks) == b"".join(LINES)
    assert len(blocks) > 3
    assert [block.summary.is_last for block in blocks] == [False] * (len(blocks) - 1) + [True]
    first = 1
    for summary in (block.summary for block in blocks):
        assert (summary.first, summary.last) == (first, first + summary.lines - 1)
        assert (summary.first_ts, summary.last_ts) == (100 + summary.first, 100 + summary.last)
        assert (summary.kinds, summary.rows, summary.is_right) == (["denied"], {}, True)
        first = summary.last + 1


def test_rows_of_a_checkpoint_are_in_blocks_of_their_own():
    rows = [line(seq, "topic_queues", checkpoint=3) for seq in range(4, 44)]
    before, after = [line(seq) for seq in (1, 2)], [line(seq) for seq in range(45, 49)]
    marks = line(3, "checkpoint_begin"), line(44, "checkpoint_end", checkpoint=3)
    found = summaries([*before, marks[0], *rows, marks[1], *after])
    only_rows = [each for each in found if each.rows and not each.kinds]
    assert sum(each.rows["topic_queues"] for each in only_rows) == 40
    assert {each.checkpoint for each in only_rows} == {3}
    assert found[0].kinds == ["checkpoint_begin", "denied"]
    assert found[-1].first == 0  # the end of a checkpoint is nothing that may be skipped


@pytest.mark.parametrize(
    "other",
    [
        line(2, end=False),
        line(2, change=1),
        line(3),
        line(2, ts=1),
        line(2, checkpoint=1) + line(3, checkpoint=2),
        line(2, "checkpoint_end", checkpoint=1),
    ],
)
def test_what_is_no_change_of_its_own_in_order_must_be_read(other):
    (summary,) = summaries([line(1), other])
    assert (summary.first, summary.is_right) == (0, True)


@pytest.mark.parametrize(
    "other",
    [
        line(2)[:-4] + b'0"}\n',
        msgspec.json.encode({"kind": "denied"}) + b"\n",
        line(2, namesrv="m"),
        line(2, boot=6),
        line(2, v=2),
        b"rubbish\n",
        line(2)[:-1],
    ],
)
def test_of_a_line_that_is_not_right_nothing_is_said(other):
    (summary,) = summaries([line(1), other])
    assert (summary.first, summary.is_right) == (0, False)


def test_a_change_is_in_one_block_unless_it_is_very_long(monkeypatch):
    most_bytes = 64 * 1024  # as the limit is, packing takes seconds
    monkeypatch.setattr("namekeeper.journal.contract.blocks.MOST_BYTES", most_bytes)
    long = [line(seq, change=1, end=seq == 60) for seq in range(1, 61)]
    assert [each.lines for each in summaries([*long, line(61)])] == [60, 1]
    very_long = [
        line(seq, change=1, end=seq == 3, text=os.urandom(most_bytes // 4).hex()) for seq in (1, 2, 3)
    ]
    assert [each.lines for each in summaries(very_long)] == [2, 1]


def test_a_segment_that_was_renamed_has_no_summaries():
    for renamed in (structs.replace(SEGMENT, namesrv="m"), structs.replace(SEGMENT, boot=6)):
        assert parts(PACKED, renamed) == [b"".join(LINES)]


def test_what_was_packed_without_summaries_is_read():
    text = b"".join(LINES)
    assert parts(gzip.compress(text)) == [text]
    assert parts(gzip.compress(text[:500]) + gzip.compress(text[500:])) == [text]
    *blocks, rest = parts(PACKED + gzip.compress(text))
    assert rest == text
    assert b"".join(block.text() for block in blocks) == text


def test_a_file_that_ends_between_two_blocks_is_torn():
    """gzip alone would take it for a whole one."""
    for end in range(len(PACKED)):
        with pytest.raises((EOFError, zlib.error)):
            parts(PACKED[:end])


def test_no_flipped_bit_gives_another_text_or_another_summary():
    """What was altered shows when it is unpacked, or makes no difference."""
    whole, text = parts(PACKED), b"".join(LINES)
    chance = Random(1)
    for _ in range(600):
        at = chance.randrange(len(PACKED))
        data = PACKED[:at] + bytes([PACKED[at] ^ 1 << chance.randrange(8)]) + PACKED[at + 1 :]
        try:
            found = parts(data)
        except (EOFError, zlib.error):
            continue
        assert b"".join(each.text() if isinstance(each, Block) else each for each in found) == text
        assert all(each in whole for each in found if isinstance(each, Block))


def bomb(text: bytes, members: int = 1) -> bytes:
    return gzip.compress(text) * members


@pytest.mark.parametrize("members", [1, 3])
def test_a_bomb_is_unpacked_in_small_pieces_and_ends_at_its_ratio(monkeypatch, members):
    monkeypatch.setattr(blocks, "TEXT_RATIO_FROM_BYTES", 3 << 20)
    monkeypatch.setattr(blocks, "TEXT_RATIO_LIMIT", 100)
    (text,) = parts_of(iter([bomb(b"a" * (8 << 20), members)]), SEGMENT)
    assert not isinstance(text, Block)
    sizes = []
    tracemalloc.start()
    with pytest.raises(zlib.error, match="bytes unpack to more than 3145728, no segment of ours does"):
        sizes += map(len, text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_text_of_many_pieces_is_whole():
    text = os.urandom(10) * (300 << 10)
    for chunk in (100, 1 << 20):
        (found,) = parts(bomb(text, 2), chunk=chunk)
        assert found == text * 2
    with pytest.raises(EOFError, match="has no end"):
        parts(bomb(text)[:-12])


def block_of(text: bytes, **stated: object) -> bytes:
    """A block whose summary and checksums are right, whatever it holds."""
    packer = zlib.compressobj(wbits=-15)
    data = packer.compress(text) + packer.flush() + struct.pack("<II", zlib.crc32(text), len(text))
    members = {
        "version": 1,
        "size": len(data),
        "crc": zlib.crc32(data),
        "lines": 1,
        "is_last": True,
        "is_right": True,
    }
    summary = msgspec.json.encode(blocks.BlockSummary(**{**members, **stated}))
    crc = zlib.crc32(summary, zlib.crc32(b"n 5 "))
    extra = struct.pack("<H2sHI", len(summary) + 8, b"NK", len(summary) + 4, crc)
    return blocks.BLOCK_BEGIN + extra + summary + data


def test_a_block_that_holds_more_than_a_block_may_is_broken(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_TEXT_BYTES", 1 << 20)
    (one,) = parts(block_of(b"a" * (1 << 20)))
    assert isinstance(one, Block)
    assert len(one.text()) == 1 << 20
    (one,) = parts(block_of(b"a" * (8 << 20)))
    assert isinstance(one, Block)
    with pytest.raises(zlib.error, match="has no end within 1048576 bytes"):
        one.text()


def test_many_blocks_have_the_room_of_one_segment(monkeypatch):
    monkeypatch.setattr(blocks, "TEXT_RATIO_FROM_BYTES", 3 << 20)
    found = parts(block_of(b"a" * (1 << 20), is_last=False) * 5 + block_of(b""))
    with pytest.raises(zlib.error, match="unpack to more than"):
        sum(len(each.text()) for each in found if isinstance(each, Block))


@pytest.mark.parametrize("size", [-300, -1, 0, 7, 1 << 60])
def test_a_size_that_no_block_has_is_not_believed(size):
    (rest,) = parts(block_of(b"a", size=size, crc=0))
    assert rest == b"a"
