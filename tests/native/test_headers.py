"""What the front reads of a header is what the server reads of it."""

from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from namekeeper.processor.routing import form_of_answer
from namekeeper.wire.codes import LanguageName
from namekeeper.wire.command import RemotingCommand, request
from namekeeper.wire.json_header import decode_strictly, encode_json_header

front = pytest.importorskip("namekeeper_front", reason="make native builds it")

LANGUAGES = st.sampled_from(get_args(LanguageName))
PLAIN = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7F, exclude_characters='"\\'), max_size=20)
FIELDS = st.dictionaries(
    st.one_of(st.sampled_from(("acceptStandardJsonOnly", "AccessKey", "ns")), PLAIN.filter(lambda name: name != "__ZONE_MODE")),
    st.one_of(st.sampled_from(("true", "TRUE", "false", "")), PLAIN),
    max_size=3,
)  # fmt: skip
VERSIONS = st.one_of(st.integers(399, 403), st.integers(-999_999_999, 999_999_999))
OPAQUES = st.integers(1, 999_999_999)


@st.composite
def look_ups(draw: st.DrawFn) -> RemotingCommand:
    """Look-ups as encoders write them."""
    fields = draw(FIELDS) | {"topic": draw(PLAIN)}
    order = draw(st.permutations(list(fields)))
    command = request(105, {name: fields[name] for name in order}, opaque=draw(OPAQUES))
    command.version, command.language = draw(VERSIONS), draw(LANGUAGES)
    return command


@given(look_ups())
def test_a_look_up_as_encoders_write_it_is_read(look_up):
    fields = look_up.ext_fields
    assert fields is not None
    expected = (fields["topic"], form_of_answer(look_up), str(look_up.opaque))
    assert front.read_header(encode_json_header(look_up)) == expected


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
    found = front.read_header(header)
    if found is None:  # the server reads it, whatever it is
        return
    read = decode_strictly(header)
    assert (read.code, read.flag, read.body) == (105, 0, b"")
    assert read.ext_fields is not None
    assert found == (read.ext_fields["topic"], form_of_answer(read), str(read.opaque))
