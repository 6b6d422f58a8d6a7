from struct import pack

import pytest
from hypothesis import given

from namekeeper.errors import ProtocolError
from namekeeper.wire.command import RemotingCommand
from namekeeper.wire.rocketmq_header import (
    MAX_EXT_FIELDS,
    decode_rocketmq_header,
    encode_rocketmq_header,
)
from tests.unit.wire.commands import binary_commands

FIXED = pack(">hbhii", 105, 0, 373, 7, 0)
NONE = pack(">i", 0)


def pair(key: bytes, value: bytes) -> bytes:
    return pack(">h", len(key)) + key + pack(">i", len(value)) + value


def header(pairs: bytes = b"", *, remark: bytes = b"", length: int | None = None) -> bytes:
    return (
        FIXED
        + pack(">i", len(remark))
        + remark
        + pack(">i", len(pairs) if length is None else length)
        + pairs
    )


def decode(data: bytes) -> RemotingCommand:
    command, used = decode_rocketmq_header(data)
    assert used == len(data)
    return command


@given(binary_commands)
def test_what_was_written_is_read(command):
    encoded = encode_rocketmq_header(command)
    command.body = b""
    assert decode(encoded) == command


def test_the_fields_lie_where_java_puts_them():
    command = RemotingCommand(105, "JAVA", 373, 7, 0, None, {"topic": "TopicTest"})
    encoded = encode_rocketmq_header(command)
    assert encoded == header(pair(b"topic", b"TopicTest"))
    assert decode(encoded) == command


def test_code_and_version_are_signed():
    assert decode(pack(">hbhii", -1, 0, -2, -3, -4) + NONE + NONE) == RemotingCommand(-1, "JAVA", -2, -3, -4)


@pytest.mark.parametrize("language", [14, -1, 127])
def test_an_unknown_language_is_none(language):
    assert decode(pack(">hbhii", 1, language, 0, 0, 0) + NONE + NONE).language is None


def test_empty_strings_are_null():
    fields = pair(b"empty", b"") + pair(b"", b"nameless") + pair(b"a", b"b")
    assert decode(header(fields)).ext_fields == {"a": "b"}
    assert decode(header(pair(b"empty", b""))).ext_fields == {}
    assert decode(header()).remark is None


def test_a_length_of_ext_fields_below_1_is_none():
    assert decode(header(length=0)).ext_fields is None
    assert decode(header(length=-5)).ext_fields is None


def test_the_last_pair_may_be_longer_than_announced():
    fields = pair(b"topic", b"TopicTest")
    assert decode(header(fields, length=len(fields) - 2)).ext_fields == {"topic": "TopicTest"}


def test_surplus_bytes_are_left_to_the_body():
    exact = header(pair(b"a", b"b"), remark="Größe".encode())
    command, used = decode_rocketmq_header(exact + b"rest")
    assert (command.remark, command.ext_fields, used) == ("Größe", {"a": "b"}, len(exact))


def test_what_is_not_utf_8_is_replaced():
    assert decode(header(remark=b"\xff")).remark == "\ufffd"


@pytest.mark.parametrize("cut", range(len(header(pair(b"key", b"value"), remark=b"remark"))))
def test_a_header_that_ends_too_early_is_a_protocol_error(cut):
    with pytest.raises(ProtocolError, match="bad header"):
        decode_rocketmq_header(header(pair(b"key", b"value"), remark=b"remark")[:cut])


@pytest.mark.parametrize(
    "data",
    [
        FIXED + pack(">i", -1) + NONE,
        FIXED + pack(">i", 1000) + NONE,
        header(pair(b"a", b"b"), length=1000),
        header(pack(">h", -1) + pair(b"a", b"b")),
        header(pack(">h", 1000) + pair(b"a", b"b")),
        header(pack(">h", 1) + b"a" + pack(">i", -1)),
        header(pack(">h", 1) + b"a" + pack(">i", 1000)),
    ],
)
def test_impossible_lengths_are_protocol_errors(data):
    with pytest.raises(ProtocolError, match="bad header"):
        decode_rocketmq_header(data)


@pytest.mark.parametrize("field", [pair(b"", b""), pair(b"a", b"b")], ids=["empty", "again"])
def test_a_header_has_no_more_ext_fields_than_allowed_whatever_is_in_them(field):
    decode(header(field * MAX_EXT_FIELDS))
    with pytest.raises(ProtocolError, match="more than 1000 ext fields"):
        decode_rocketmq_header(header(field * (MAX_EXT_FIELDS + 1)))


@pytest.mark.parametrize(
    "command",
    [
        RemotingCommand(code=2**15),
        RemotingCommand(version=-(2**15) - 1),
        RemotingCommand(ext_fields={"k" * 2**15: "v"}),
    ],
)
def test_what_has_no_room_is_refused(command):
    with pytest.raises(ValueError, match="no room in a binary header"):
        encode_rocketmq_header(command)
