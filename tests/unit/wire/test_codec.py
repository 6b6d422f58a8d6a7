import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.wire import codec
from namekeeper.wire.codec import CommandDecoder, encode_command, encode_response
from namekeeper.wire.codes import SerializeType
from namekeeper.wire.command import OUR_VERSION, RemotingCommand, Response
from tests.unit.wire.commands import binary_commands, int32, json_commands


def decode(frame: bytes) -> RemotingCommand:
    (command,) = CommandDecoder().feed(frame)
    return command


@given(json_commands)
def test_a_command_survives_json(command):
    assert decode(encode_command(command)) == command


@given(binary_commands)
def test_a_command_survives_the_binary_form(command):
    assert decode(encode_command(command, SerializeType.ROCKETMQ)) == command


@given(
    st.builds(
        Response,
        code=st.integers(0, 2**15 - 1),
        remark=st.none() | st.text(),
        ext_fields=st.none() | st.dictionaries(st.text(), st.text()),
        body=st.binary(),
    ),
    int32,
)
def test_an_answer_gets_our_envelope(response, opaque):
    assert decode(encode_response(response, opaque=opaque)) == RemotingCommand(
        response.code, "JAVA", OUR_VERSION, opaque, 1, response.remark, response.ext_fields, response.body
    )


@given(st.binary(), int32)
def test_the_template_is_what_the_encoder_writes(body, opaque):
    command = RemotingCommand(0, "JAVA", OUR_VERSION, opaque, 1, None, None, body)
    assert encode_response(Response(body=body), opaque=opaque) == encode_command(command)


def test_a_bare_answer_byte_for_byte():
    header = (
        b'{"code":0,"flag":1,"language":"JAVA","opaque":7,"serializeTypeCurrentRPC":"JSON","version":513}'
    )
    assert encode_response(Response(body=b"xyz"), opaque=7) == b"\0\0\0\x66" + b"\0\0\0\x5f" + header + b"xyz"


def test_an_answer_with_an_empty_response_header_says_so():
    assert b'"extFields":{}' in encode_response(Response(ext_fields={}), opaque=7)
    assert b"extFields" not in encode_response(Response(1, "no"), opaque=7)


def test_an_answer_in_the_binary_form():
    frame = encode_response(Response(17, "no"), opaque=7, serialize_type=SerializeType.ROCKETMQ)
    assert frame[4] == SerializeType.ROCKETMQ
    assert decode(frame) == RemotingCommand(17, "JAVA", OUR_VERSION, 7, 1, "no")


def test_a_header_that_the_header_word_can_t_tell_is_refused(monkeypatch):
    monkeypatch.setattr(codec, "MAX_HEADER_BYTES", 100)
    with pytest.raises(ValueError, match=r"a header of \d+ bytes is longer than 100"):
        encode_command(RemotingCommand(remark="x" * 100))
