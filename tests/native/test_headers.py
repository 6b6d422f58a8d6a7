"""What the front reads of a header is what the server reads of it."""

from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from namekeeper.processor.routing import form_of_answer
from namekeeper.wire.codes import LanguageName
from namekeeper.wire.command import RemotingCommand, request
from namekeeper.wire.json_header import decode_strictly, encode_json_header
from namekeeper.wire.rocketmq_header import decode_rocketmq_header, encode_rocketmq_header

front = pytest.importorskip("namekeeper_front", reason="make native builds it")

LANGUAGES = st.sampled_from(get_args(LanguageName))
PLAIN = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7F, exclude_characters='"\\'), max_size=20)
FIELDS = st.dictionaries(
    st.one_of(st.sampled_from(("acceptStandardJsonOnly", "AccessKey", "ns")), PLAIN.filter(lambda name: name != "__ZONE_MODE")),
    st.one_of(st.sampled_from(("true", "TRUE", "false", "")), PLAIN),
    max_size=3,
)  # fmt: skip
VERSIONS = st.one_of(st.integers(399, 403), st.integers(-999_999_999, 999_999_999))
SHORT_VERSIONS = st.one_of(st.integers(399, 403), st.integers(-32_768, 32_767))
OPAQUES = st.integers(1, 999_999_999)


@st.composite
def look_ups(draw: st.DrawFn, versions: st.SearchStrategy[int] = VERSIONS) -> RemotingCommand:
    """Look-ups as encoders write them."""
    fields = draw(FIELDS) | {"topic": draw(PLAIN)}
    order = draw(st.permutations(list(fields)))
    command = request(105, {name: fields[name] for name in order}, opaque=draw(OPAQUES))
    command.version, command.language = draw(versions), draw(LANGUAGES)
    return command


@given(look_ups())
def test_a_look_up_as_encoders_write_it_is_read(look_up):
    fields = look_up.ext_fields
    assert fields is not None
    expected = (fields["topic"], form_of_answer(look_up), look_up.opaque)
    assert front.read_header(encode_json_header(look_up), False) == expected


@given(look_ups(SHORT_VERSIONS))
def test_a_look_up_as_encoders_write_it_in_binary_is_read(look_up):
    fields = look_up.ext_fields
    assert fields is not None
    expected = (fields["topic"], form_of_answer(look_up), look_up.opaque) if fields["topic"] else None
    assert front.read_header(encode_rocketmq_header(look_up), True) == expected


PIECES = st.sampled_from(
    (
        b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\n", b"\0", b"\xff", b"0", b"1", b"-", b".", b"e5", b"null",
        b"true", b'"x"', b'"x":1', b"\\u0054", b"\xc3\xa9", b'"topic":"U"', b'"code":105', b'"flag":2', b'"opaque":8',
        b'"version":1', b'"__ZONE_MODE":"true"', b'"acceptStandardJsonOnly":"true"', b'"extFields":{"topic":"U"}', b"2147483648",
        b'"language":"LISP"', b'"remark":null', b'"body, from the frame":""',
    )
)  # fmt: skip


@st.composite
def changed_headers(draw: st.DrawFn) -> bytes:
    """Headers of which some bytes are others."""
    header = encode_json_header(draw(look_ups()))
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(header)))
        end = min(len(header), begin + draw(st.sampled_from((0, 0, 1, 3, 12))))
        header = header[:begin] + draw(PIECES) + header[end:]
    return header


@given(changed_headers())
@example(b'{"code":105,"opaque":7,"extFields":{"topic":"T"},"flag":0,"version":401}')
def test_what_the_front_reads_means_the_same_to_the_server(header):
    found = front.read_header(header, False)
    if found is None:  # the server reads it, whatever it is
        return
    read = decode_strictly(header)
    assert (read.code, read.flag, read.body) == (105, 0, b"")
    assert read.ext_fields is not None
    assert found == (read.ext_fields["topic"], form_of_answer(read), read.opaque)


NUMBERS = st.sampled_from(
    (b"\0", b"\x01", b"\xff", b"\0\0", b"\0\x05topic", b"\0\0\0\x01", b"\x7f\xff\xff\xff", b"U", b"\xc3\xa9")
)


@st.composite
def changed_binary_headers(draw: st.DrawFn) -> bytes:
    """Binary headers of which some bytes are others."""
    header = encode_rocketmq_header(draw(look_ups(SHORT_VERSIONS)))
    for _ in range(draw(st.integers(1, 2))):
        begin = draw(st.integers(0, len(header)))
        end = min(len(header), begin + draw(st.sampled_from((0, 1, 1, 2, 4))))
        header = header[:begin] + draw(NUMBERS) + header[end:]
    return header


@given(changed_binary_headers())
@example(encode_rocketmq_header(request(105, {"topic": "T", "ns": ""}, opaque=2**31 - 1)))
@example(encode_rocketmq_header(request(105, {"topic": "T"}, opaque=7)) + b"body")
def test_what_the_front_reads_in_binary_means_the_same_to_the_server(header):
    found = front.read_header(header, True)
    if found is None:
        return
    read, used = decode_rocketmq_header(header)
    assert (read.code, read.flag, used) == (105, 0, len(header))
    assert read.ext_fields is not None
    assert found == (read.ext_fields["topic"], form_of_answer(read), read.opaque)
