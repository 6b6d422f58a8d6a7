"""Frames that the cache knows become answers; all others are decoded."""

import pytest

from namekeeper.lookup_cache.cache import LookupCache
from namekeeper.lookup_cache.reader import (
    ANSWER_BYTES_PER_TURN,
    PART_BYTES,
    SHORT_HEADER_BYTES,
    RequestReader,
)
from namekeeper.wire.codec import encode_command, encode_response
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import RemotingCommand, Response, request

ANSWER = encode_response(Response(body=b"route"), opaque=7)


def look_up(topic: str = "T", body: bytes = b"") -> RemotingCommand:
    return request(105, {"topic": topic}, body, opaque=7)


@pytest.fixture
def cache() -> LookupCache:
    """It knows the look-up of T."""
    cache = LookupCache(10_000)
    (asked,) = RequestReader(cache=cache).feed(encode_command(look_up()))
    assert isinstance(asked, RemotingCommand)
    cache.learn(asked.header, asked.opaque, topic="T", body=b"route", revision=cache.revision)
    return cache


def test_answers_take_the_place_of_requests_in_the_order_of_the_frames(cache):
    data = encode_command(look_up("U")) + encode_command(look_up()) + encode_command(look_up("V"))
    first, answer, last = RequestReader(cache=cache).feed(data)
    assert isinstance(first, RemotingCommand)
    assert isinstance(last, RemotingCommand)
    assert (first.ext_fields, answer, last.ext_fields) == ({"topic": "U"}, ANSWER, {"topic": "V"})


def test_a_frame_is_found_however_its_bytes_arrive(cache):
    reader = RequestReader(cache=cache)
    data = encode_command(look_up())
    assert [item for at in range(len(data)) for item in reader.feed(data[at : at + 1])] == [ANSWER]


def test_a_part_has_enough_items_and_the_rest_stays_bytes(cache):
    one = encode_command(look_up())
    items, rest = RequestReader(cache=cache).feed_part(one * 1_000, 3)
    assert 3 <= len(items) <= PART_BYTES // len(one)
    assert set(items) == {ANSWER}
    assert len(rest) == 1_000 * len(one) - PART_BYTES


@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "in parts"])
def test_no_more_answers_are_made_than_one_turn_writes(is_whole):
    """1,500 connections with 300 lookups of a long route held 600 MiB of answers that nobody had written."""
    cache, one = LookupCache(10_000_000), encode_command(look_up())
    reader = RequestReader(cache=cache)
    route = b"x" * (ANSWER_BYTES_PER_TURN // 4)
    cache.learn(one[8:], 7, topic="T", body=route, revision=cache.revision)
    pipeline = one * (2 * PART_BYTES // len(one))
    items, rest = (reader.feed(pipeline), b"") if is_whole else reader.feed_part(pipeline, 256)
    assert [type(item) for item in items] == [bytes] * 4 + [tuple] * (len(items) - 4)
    assert len(items) == (len(pipeline) - len(rest)) // len(one)
    left = items[-1]
    assert isinstance(left, tuple)
    assert reader.answer(left) == reader.take(left) == items[0]
    cache.forget("T")
    assert reader.answer(left) is None
    asked = reader.take(left)
    assert isinstance(asked, RemotingCommand)
    assert (asked.ext_fields, asked.header) == ({"topic": "T"}, one[8:])


def test_in_parts_a_stream_is_the_same(cache):
    whole = b"".join(encode_command(look_up("U", b"x" * size)) for size in range(0, 200_000, 20_000))
    reader = RequestReader(cache=cache)
    bodies, rest = [], whole
    while rest:
        items, rest = reader.feed_part(rest, 1)
        bodies += [len(item.body) for item in items if isinstance(item, RemotingCommand)]
    assert bodies == list(range(0, 200_000, 20_000))


def test_a_request_with_a_body_is_never_looked_for(cache):
    (found,) = RequestReader(cache=cache).feed(encode_command(look_up(body=b"x")))
    assert isinstance(found, RemotingCommand)
    assert (found.body, found.header) == (b"x", b"")


def test_a_binary_header_is_never_looked_for(cache):
    (found,) = RequestReader(cache=cache).feed(encode_command(look_up(), SerializeType.ROCKETMQ))
    assert isinstance(found, RemotingCommand)
    assert (found.ext_fields, found.header) == ({"topic": "T"}, b"")


def test_a_short_frame_is_bounded_too(cache):
    data = encode_command(look_up("U"))
    (found,) = RequestReader(len(data), cache).feed(data)
    assert isinstance(found, RemotingCommand)
    bounded = RequestReader(len(data) - 1, cache)
    assert not bounded.feed(data)
    assert "length" in bounded.frames.failure


def test_what_is_decoded_at_once_is_learned_in_its_scope(cache):
    reader = RequestReader(cache=cache)
    reader.use_cache(cache, b"peer ")
    (found,) = reader.feed(encode_command(look_up("U")))
    assert isinstance(found, RemotingCommand)
    assert found.header.startswith(b"peer {")


def test_without_a_cache_everything_is_decoded():
    (found,) = RequestReader().feed(encode_command(look_up()))
    assert isinstance(found, RemotingCommand)
    assert found.header == b""


def test_a_header_for_the_slow_reader_is_left_to_whoever_serves_it(cache):
    reader = RequestReader(cache=cache)
    lenient = b"\0\0\0\x06\0\0\0\x02{,"
    found = reader.feed(encode_command(look_up()) + lenient + encode_command(look_up()))
    assert found == [ANSWER, (0, b"{,", b""), ANSWER]
    assert reader.frames.failure == ""


@pytest.mark.parametrize("form", SerializeType)
def test_a_long_header_is_left_to_whoever_serves_it(cache, form):
    reader = RequestReader(cache=cache)
    asked = request(105, {"topic": "T", "filler": "x" * SHORT_HEADER_BYTES}, b"body")
    before, (kind, header, body), after = reader.feed(
        encode_command(look_up()) + encode_command(asked, form) + encode_command(look_up())
    )
    assert (before, after) == (ANSWER, ANSWER)
    assert (kind, len(header) > SHORT_HEADER_BYTES, body) == (form, True, b"body")


def test_the_first_broken_frame_ends_the_stream_after_what_came_before_it(cache):
    reader = RequestReader(cache=cache)
    broken = b"\0\0\0\x05\7\0\0\x01["
    assert reader.feed(encode_command(look_up()) + broken + encode_command(look_up())) == [ANSWER]
    assert "unknown type 7" in reader.frames.failure
    assert reader.feed(encode_command(look_up())) == []


def test_what_looks_like_a_look_up_inside_a_body_is_body(cache):
    reader = RequestReader(cache=cache)
    inner = encode_command(look_up())
    outer = encode_command(request(103, body=inner))
    head = outer[: -len(inner)]
    assert reader.feed(head) == []
    (found,) = reader.feed(inner)
    assert isinstance(found, RemotingCommand)
    assert (found.code, found.body) == (103, inner)


def test_what_is_learned_in_one_scope_is_not_found_in_another(cache):
    reader = RequestReader()
    reader.use_cache(cache, b"1 ")
    (asked,) = reader.feed(encode_command(look_up()))
    assert isinstance(asked, RemotingCommand)
    cache.learn(asked.header, asked.opaque, topic="T", body=b"route", revision=cache.revision)
    assert reader.feed(encode_command(look_up())) == [ANSWER]
    reader.use_cache(cache, b"2 ")
    assert reader.feed(encode_command(look_up())) != [ANSWER]
    reader.use_cache(None)
    assert reader.feed(encode_command(look_up())) != [ANSWER]
    reader.use_cache(cache)
    assert reader.feed(encode_command(look_up())) == [ANSWER]
