import itertools
import sys
import tracemalloc
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.wire.codec import CommandDecoder, encode_command
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import RemotingCommand, request
from namekeeper.wire.frames import DEFAULT_MAX_FRAME_BYTES, HTTP_SPOKEN, MAX_HEADER_BYTES, FrameDecoder
from tests.unit.wire.commands import binary_commands, json_commands

ROUTE = encode_command(request(105, {"topic": "T"}, opaque=7))
LIMIT = DEFAULT_MAX_FRAME_BYTES - 4

frames = json_commands.map(encode_command) | binary_commands.map(
    lambda it: encode_command(it, SerializeType.ROCKETMQ)
)


def frame(content: bytes, word: int) -> bytes:
    return pack(">iI", 4 + len(content), word) + content


def feed_in_pieces(stream: bytes, cuts: list[int]) -> tuple[list[RemotingCommand], CommandDecoder]:
    decoder = CommandDecoder(1000)
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    commands = [it for start, end in itertools.pairwise(edges) for it in decoder.feed(stream[start:end])]
    return commands, decoder


@given(
    st.lists(frames, max_size=4).map(b"".join),
    st.sampled_from(
        [
            b"",
            b"\0",
            ROUTE[:9],
            b"\0\0\0\0",
            b"\x7f\0\0\0",
            frame(b"", 0),
            frame(b"{}", 3),
            frame(b"{}x", 2 << 24),
        ]
    ),
    st.lists(st.integers(0, 10_000), max_size=10),
)
def test_any_cut_of_the_stream_gives_the_same_frames(stream, tail, cuts):
    whole, cut = feed_in_pieces(stream + tail + ROUTE, []), feed_in_pieces(stream + tail + ROUTE, cuts)
    assert whole[0] == cut[0]
    for told in ("announced", "buffered"):
        if not whole[1].frames.failure:
            assert getattr(whole[1].frames, told) == getattr(cut[1].frames, told)
    assert whole[1].frames.failure == cut[1].frames.failure


def test_a_stream_of_single_bytes():
    commands, decoder = feed_in_pieces(ROUTE * 2, list(range(len(ROUTE) * 2)))
    assert [command.code for command in commands] == [105, 105]
    assert (decoder.frames.buffered, decoder.frames.announced) == (0, 0)


def test_a_body_is_what_follows_the_header():
    assert CommandDecoder().feed(frame(b'{"code":5}body', 10)) == [RemotingCommand(5, body=b"body")]


def test_a_frame_is_a_type_a_header_and_a_body_not_decoded():
    assert FrameDecoder().feed(frame(b"not JSONbody", 8)) == [(0, b"not JSON", b"body")]
    assert FrameDecoder().feed(frame(b"anybody", 9 << 24 | 3)) == [(9, b"any", b"body")]


def test_requests_may_be_pipelined():
    assert [
        command.opaque for command in CommandDecoder().feed(ROUTE + encode_command(request(106, opaque=8)))
    ] == [7, 8]


def test_an_incomplete_frame_is_announced():
    decoder = CommandDecoder()
    assert decoder.feed(ROUTE + ROUTE[:3]) != []
    assert (decoder.frames.announced, decoder.frames.buffered) == (0, 3)
    assert decoder.feed(ROUTE[3:5]) == []
    assert (decoder.frames.announced, decoder.frames.buffered) == (len(ROUTE), 5)
    assert decoder.feed(ROUTE[5:]) == [request(105, {"topic": "T"}, opaque=7)]
    assert (decoder.frames.announced, decoder.frames.buffered) == (0, 0)


def test_a_large_body_arrives_in_chunks_of_any_size():
    body = bytes(range(256)) * 1000
    stream = encode_command(request(103, body=body)) + ROUTE
    decoder = CommandDecoder()
    chunks = [stream[:5000], stream[5000:5100], stream[5100:5110], stream[5110:200_000], stream[200_000:]]
    commands = [command for chunk in chunks for command in decoder.feed(chunk)]
    assert [command.body for command in commands] == [body, b""]


def test_a_moderate_frame_is_not_copied_as_it_arrives():
    decoder = CommandDecoder()
    stream = encode_command(request(103, body=bytes(1 << 19)))
    chunks = [stream[start : start + 65_536] for start in range(0, len(stream), 65_536)]
    assert [decoder.feed(chunk) for chunk in chunks[:7]] == [[]] * 7
    assert (len(decoder.frames._chunks), decoder.frames.buffered) == (7, 7 * 65_536)
    assert [len(command.body) for chunk in chunks[7:] for command in decoder.feed(chunk)] == [1 << 19]


def test_the_body_of_a_large_frame_is_the_buffer_in_which_it_arrived():
    decoder = CommandDecoder()
    stream = encode_command(request(103, body=bytes(8 << 20)))
    tracemalloc.start()
    try:
        for start in range(0, len(stream) - 65_536, 65_536):
            assert decoder.feed(stream[start : start + 65_536]) == []
        tracemalloc.reset_peak()
        (command,) = decoder.feed(stream[decoder.frames.buffered :])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(command.body), most < 12 << 20) == (8 << 20, True)


def test_the_buffer_of_a_large_body_does_not_grow():
    """A buffer that grows is copied now and then, in one turn."""
    decoder = CommandDecoder()
    stream = encode_command(request(103, body=bytes(8 << 20)))
    assert decoder.feed(stream[: 1 << 19]) == []
    buffer = decoder.frames._body
    assert buffer is not None
    size = sys.getsizeof(buffer)
    for start in range(1 << 19, len(stream) - 65_536, 65_536):
        assert (decoder.feed(stream[start : start + 65_536]), sys.getsizeof(buffer)) == ([], size)
    assert size > 8 << 20


@pytest.mark.parametrize("arrived", [8, 65_536, 262_144])
def test_a_frame_that_only_announces_its_size_gets_no_buffer_for_it(arrived):
    """So many connections may do so before one of them has to ask for room."""
    decoder = CommandDecoder()
    stream = encode_command(request(103, body=bytes(8 << 20)))
    tracemalloc.start()
    try:
        assert decoder.feed(stream[:arrived]) == []
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (decoder.frames.announced, held < 1 << 20) == (len(stream), True)


@pytest.mark.parametrize(
    "ends", [(3,), (10,), (8, 9), (40, 100), (100, 1 << 20), (7, 65_536, 1 << 20)], ids=str
)
@pytest.mark.parametrize("kind", [SerializeType.JSON, SerializeType.ROCKETMQ])
def test_a_large_frame_may_be_cut_anywhere_and_others_follow_it(ends, kind):
    body = bytes(range(256)) * 5000
    large = encode_command(request(103, body=body), kind)
    stream = large + ROUTE + large
    cuts = [0, *ends, len(large) - 1, len(large) + 5, len(stream)]
    decoder = CommandDecoder()
    found = [c for start, end in itertools.pairwise(cuts) for c in decoder.feed(stream[start:end])]
    assert [command.body for command in found] == [body, b"", body]
    assert [command.code for command in found] == [103, 105, 103]
    assert (decoder.frames.announced, decoder.frames.buffered) == (0, 0)


def test_a_broken_header_of_a_large_frame_is_found_when_the_frame_is_there():
    decoder = FrameDecoder()
    broken = pack(">iI", 2 << 20, MAX_HEADER_BYTES + 1) + bytes(2 << 20)
    assert decoder.feed(broken[:50_000]) == []
    assert decoder.failure == ""
    assert decoder.feed(broken[50_000:]) == []
    assert "bad frame: header of" in decoder.failure


def test_a_frame_that_is_fed_whole_is_not_kept():
    decoder = CommandDecoder()
    decoder.feed(ROUTE)
    assert decoder.frames.buffered == 0


def test_the_largest_length_is_waited_for():
    decoder = CommandDecoder()
    assert decoder.feed(pack(">i", LIMIT)) == []
    assert (decoder.frames.failure, decoder.frames.announced) == ("", DEFAULT_MAX_FRAME_BYTES)


def test_a_frame_of_exactly_the_limit_is_read():
    assert CommandDecoder(len(ROUTE)).feed(ROUTE) != []


@pytest.mark.parametrize(
    "line", [b"GET / HTTP/1.1", b"OPTIONS / HTTP/1.0", b"HEAD /healthz", b"POST /x", b"CONNECT a:1"]
)
def test_a_request_of_http_is_named_as_one(line):
    decoder = CommandDecoder()
    assert decoder.feed(line) == []
    assert decoder.frames.failure == HTTP_SPOKEN


@pytest.mark.parametrize("length", [LIMIT + 1, 2**31 - 1, 0, 1, 3, -1, -(2**31)])
def test_an_impossible_length_fails_before_the_rest_arrives(length):
    decoder = CommandDecoder()
    assert [command.code for command in decoder.feed(ROUTE + pack(">i", length))] == [105]
    assert "bad frame: length" in decoder.frames.failure


@pytest.mark.parametrize(
    "broken",
    [
        frame(b"{}", 3),  # a header longer than the frame
        frame(b"{}", 0xFFFFFF),
        frame(b"{}", 2 << 24 | 2),
        frame(b"{}", 0xFF << 24 | 2),
        frame(b"{}", 1 << 24 | 3),
        frame(b"{}", 1 << 24 | 2),  # a binary header that is too short
        frame(b"{}", 0),  # an empty header
        frame(b"", 0),
        frame(b"", 1 << 24),
        frame(b"null", 4),
        frame(b"{}x", 3),
        frame(b'{"extFields":[]}', 16),
    ],
)
def test_a_broken_frame_ends_the_stream(broken):
    decoder = CommandDecoder()
    assert [command.code for command in decoder.feed(ROUTE + broken + ROUTE)] == [105]
    assert decoder.frames.failure
    assert decoder.feed(ROUTE) == []


def test_the_largest_header():
    header = b'{"code":5}'.ljust(MAX_HEADER_BYTES)
    assert CommandDecoder().feed(frame(header, len(header))) == [RemotingCommand(5)]


@pytest.mark.parametrize("kind", [0, 1])
def test_a_larger_header_is_refused(kind):
    decoder = CommandDecoder()
    header = b'{"code":5}'.ljust(MAX_HEADER_BYTES + 1)
    assert decoder.feed(frame(header, kind << 24 | len(header))) == []
    assert "more than 1048576" in decoder.frames.failure


def test_surplus_bytes_of_a_binary_header_begin_the_body():
    exact = encode_command(RemotingCommand(5, body=b""), SerializeType.ROCKETMQ)[8:]
    (command,) = CommandDecoder().feed(frame(exact + b"sur" + b"body", 1 << 24 | len(exact) + 3))
    assert command.body == b"surb"


def test_the_type_is_told_where_frames_may_be_larger_than_a_header():
    large = CommandDecoder(1 << 26)
    content = bytes(1 << 25)
    assert large.feed(pack(">iI", 4 + len(content), 2 << 24) + content) == []
    assert "unknown type 2" in large.frames.failure
