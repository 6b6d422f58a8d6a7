import msgspec
import pytest
from hypothesis import given

from namekeeper.errors import ProtocolError
from namekeeper.wire import json_header
from namekeeper.wire.command import RemotingCommand
from namekeeper.wire.json_header import (
    decode_json_header,
    decode_leniently,
    decode_strictly,
    encode_json_header,
)
from tests.unit.wire.commands import json_commands

JAVA = (
    b'{"code":105,"extFields":{"topic":"TopicTest"},"flag":0,"language":"JAVA","opaque":7,'
    b'"serializeTypeCurrentRPC":"JSON","version":373}'
)
DECODED = RemotingCommand(105, "JAVA", 373, 7, 0, None, {"topic": "TopicTest"})


def header(**members: object) -> RemotingCommand:
    return decode_json_header(msgspec.json.encode(members))


@given(json_commands)
def test_what_was_written_is_read(command):
    encoded = encode_json_header(command)
    command.body = b""
    assert decode_strictly(encoded) == command
    assert decode_leniently(encoded) == command


def test_keys_are_in_java_s_order_without_blanks_and_nulls():
    assert encode_json_header(DECODED) == JAVA
    assert encode_json_header(RemotingCommand(flag=1, remark="", ext_fields={})) == (
        b'{"code":0,"extFields":{},"flag":1,"opaque":0,"remark":"","serializeTypeCurrentRPC":"JSON","version":0}'
    )


@pytest.mark.parametrize(
    "text",
    [
        JAVA,
        JAVA + b"\n",  # the C++ client
        b" \t\r\n" + JAVA + b" \r\n\t",
        JAVA.replace(b'"flag":0', b'"flag":0,"suspended":false,"body":"eA==","unknown":[{}]'),
        JAVA.replace(b'"flag":0', b'"flag":0,"remark":null'),
        b"\xef\xbb\xbf" + JAVA,
        JAVA.replace(b'"', b"'"),
        JAVA.replace(b'"code"', b"code").replace(b'"topic"', b"topic"),
        JAVA.replace(b"{", b"{/* a */").replace(b":7", b"://b\n7"),
        JAVA.replace(b"}", b",}"),
        JAVA.replace(b"{", b"{,").replace(b',"flag"', b',,"flag"'),
        JAVA.replace(b"105", b'"105"')
        .replace(b":7", b':"7"')
        .replace(b"373", b'"+373"')
        .replace(b":0", b":null"),
        JAVA.replace(b"105", b"105.0"),
        JAVA.replace(b"TopicTest", b"\\x54opic\\u0054est"),
        JAVA.replace(b'"JAVA"', b"0"),
    ],
)
def test_every_spelling_that_java_accepts_is_read(text):
    assert decode_json_header(text) == DECODED


def test_values_of_ext_fields_become_strings_and_nulls_vanish():
    fields = {"id": 4, "big": 2**63, "on": True, "off": False, "none": None, "ratio": 1.5, "text": "4"}
    assert header(extFields=fields).ext_fields == {
        "id": "4", "big": str(2**63), "on": "true", "off": "false", "ratio": "1.5", "text": "4"
    }  # fmt: skip


def test_objects_and_arrays_become_the_text_of_their_json():
    fields = {"object": {"a": 1, "b": [None, "x"]}, "array": [], "nested": {"ä": {"b": {}}}}
    assert header(remark=[1], extFields=fields) == RemotingCommand(
        remark="[1]",
        ext_fields={"object": '{"a":1,"b":[null,"x"]}', "array": "[]", "nested": '{"ä":{"b":{}}}'},
    )


@pytest.mark.parametrize("number", [7.5, "7.5", 7.99, "+7.0", 7e0, "0.7e1"])
def test_fractions_are_cut_off(number):
    assert header(opaque=number).opaque == 7


def test_a_negative_fraction_is_cut_off_towards_zero():
    assert header(opaque=-7.9, language=3.9) == RemotingCommand(opaque=-7, language="PYTHON")


def test_ext_fields_that_are_empty_text_are_none():
    assert header(extFields="").ext_fields is None


def test_members_that_are_missing_or_null_have_java_s_defaults():
    nulls = dict.fromkeys(("code", "language", "version", "opaque", "flag", "remark", "extFields"))
    assert header() == header(**nulls) == RemotingCommand()
    assert header(code="", opaque="").code == 0


def test_names_of_members_count_with_their_case():
    assert header(CODE=106) == RemotingCommand()


def test_a_language_comes_by_name_or_ordinal():
    assert header(language="GO").language == "GO"
    assert header(language=3).language == "PYTHON"
    assert header(language="KLINGON").language is None


def test_a_remark_may_be_a_number():
    assert header(remark=5).remark == "5"


def test_a_header_can_t_bring_a_body():
    assert header(**{"body, from the frame": "eHh4"}).body == b""


@pytest.mark.parametrize("text", [JAVA.replace(b"Topic", b"\xff"), JAVA.replace(b"Topic", b"\\ud800")])
def test_what_is_not_unicode_is_replaced(text):
    assert decode_json_header(text).ext_fields == {"topic": "\ufffdTest"}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b"5",
        b'"code"',
        b"{",
        JAVA[:-1],
        JAVA + b"x",
        JAVA + b"{}",
        b'{"extFields":["a"]}',
        b'{"extFields":"a"}',
        b'{"language":14}',
        b'{"language":-1}',
        b'{"language":true}',
        b'{"language":[]}',
        b'{"code":2147483648}',
        b'{"opaque":-2147483649}',
        b'{"flag":"99999999999"}',
        b'{"flag":"999999999999"}',
        b'{"version":"--5"}',
        b'{"code":[]}',
        b'{"code":{}}',
        b'{"version":"1.5.5"}',
        b'{"version":"1.5 "}',
        b'{"version":"1e99"}',
        b'{"opaque":3e9}',
        b'{"extFields":5}',
        b"[" * 100_000,
    ],
)
def test_what_no_java_server_accepts_is_a_protocol_error(text):
    with pytest.raises(ProtocolError, match="bad header"):
        decode_json_header(text)


def test_a_protocol_error_says_what_is_wrong():
    with pytest.raises(ProtocolError, match="bad header: code is not an int32"):
        header(code=2**31)


def test_an_ext_field_too_deep_to_write_is_a_protocol_error(monkeypatch):
    def too_deep(_):
        raise RecursionError("too deep")

    monkeypatch.setattr(json_header, "_encode", too_deep)
    with pytest.raises(ProtocolError, match="bad header: too deep"):
        decode_json_header(b'{"extFields":{"a":[]}}')
