"""A zlib stream is read piece by piece and within limits."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.messages import inflating
from namekeeper.messages.inflating import MAX_ITEM_BYTES, InflateError, InflateReader
from tests.unit.messages.samples import count_turns, finish


def item(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def reader_of(data: bytes, level: int = 9) -> InflateReader:
    return InflateReader(zlib.compress(data, level))


@given(st.lists(st.binary(max_size=50), max_size=20), st.integers(0, 9))
def test_items_come_out_as_they_went_in(items, level):
    reader = reader_of(b"".join(map(item, items)), level)
    assert [finish(reader.take_item()) for _ in items] == items
    with pytest.raises(InflateError, match="unexpected end"):
        finish(reader.take(1))


@pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 1_000])
@pytest.mark.parametrize("input_bytes", [1, 2, 7])
def test_the_size_of_the_pieces_does_not_matter(monkeypatch, chunk_bytes, input_bytes):
    monkeypatch.setattr(inflating, "_CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(inflating, "_INPUT_BYTES", input_bytes)
    reader = reader_of(item(b"hello") + b"\xff\xff\xff\xfe" + item(b"") + item(b"world" * 20))
    assert finish(reader.take_item()) == b"hello"
    assert finish(reader.take_int32()) == -2
    assert finish(reader.take_item()) == b""
    assert finish(reader.take_item()) == b"world" * 20


def test_a_large_item_takes_many_turns_of_little_work():
    assert count_turns(reader_of(item(bytes(1_000_000))).take_item()) >= 15


def test_load_item_leaves_the_item_where_it_is():
    reader = reader_of(item(b"hello") + b"rest")
    finish(reader.load_item())
    assert reader.position == 0
    assert finish(reader.take_item()) == b"hello"


@pytest.mark.parametrize("body", [b"", b"x", b"{}", b"\x1f\x8b\x08", zlib.compress(item(b"hello"))[:-9]])
def test_what_is_no_whole_zlib_stream_is_refused(body):
    with pytest.raises(InflateError, match=r"not a zlib stream|unexpected end"):
        finish(InflateReader(body).take_item())


def test_raw_deflate_and_gzip_are_refused():
    for window_bits in (-15, 31):
        packer = zlib.compressobj(wbits=window_bits)
        body = packer.compress(item(b"hello")) + packer.flush()
        with pytest.raises(InflateError, match="not a zlib stream"):
            finish(InflateReader(body).take_item())


def test_bytes_after_the_stream_are_never_looked_at():
    reader = InflateReader(zlib.compress(item(b"hello")) + b"trailer")
    assert finish(reader.take_item()) == b"hello"
    with pytest.raises(InflateError, match="unexpected end"):
        finish(reader.take(1))


@pytest.mark.parametrize("size", [-1, -(2**31), MAX_ITEM_BYTES + 5, 2**31 - 1])
def test_a_length_that_nothing_has_is_refused_before_anything_is_inflated(size):
    reader = reader_of(size.to_bytes(4, signed=True) + bytes(100))
    with pytest.raises(InflateError, match=f"a length of {size} is not in 0 to"):
        finish(reader.load_item())


def test_a_negative_count_is_refused():
    with pytest.raises(InflateError, match="a count of -1"):
        finish(reader_of(b"\xff\xff\xff\xff").take_count())


def test_t12_a_bomb_stops_at_the_limit(monkeypatch):
    monkeypatch.setattr(inflating, "MAX_INFLATED_BYTES", 500_000)
    reader = reader_of(item(bytes(100_000)) * 10)
    for _ in range(4):
        finish(reader.take_item())
    with pytest.raises(InflateError, match="more than 500000 bytes inflated"):
        finish(reader.take_item())
