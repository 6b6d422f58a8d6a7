"""Ext fields become typed headers and the other way round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from namekeeper.errors import RequestError
from namekeeper.messages.fields import (
    INT64_MAX,
    INT64_MIN,
    EmptyStr,
    Int32,
    Int64,
    LaxInt32,
    decode_header,
    encode_header,
    parse_decimal,
    to_wire_name,
)
from tests.unit.messages.samples import int32s, int64s, texts


class SampleHeader(Struct, frozen=True):
    name: str
    broker_id: Int64
    value: EmptyStr | None = None
    size: Int32 | None = None
    checksum: LaxInt32 = 7
    flag: bool | None = None
    zone_name: str | None = None


NEEDED = {"name": "n", "brokerId": "1"}

headers = st.builds(
    SampleHeader,
    name=texts.filter(bool),
    broker_id=int64s,
    value=st.none() | texts,
    size=st.none() | int32s,
    checksum=int32s,
    flag=st.none() | st.booleans(),
    zone_name=st.none() | texts.filter(bool),
)


@given(headers)
def test_a_header_survives_its_ext_fields(header):
    assert decode_header(SampleHeader, encode_header(header)) == header


@given(headers)
def test_every_ext_field_is_text(header):
    assert all(isinstance(value, str) for value in encode_header(header).values())


@pytest.mark.parametrize(
    ("field_name", "wire_name"),
    [
        ("broker_name", "brokerName"),
        ("body_crc32", "bodyCrc32"),
        ("ha_server_addr", "haServerAddr"),
        ("topic", "topic"),
        ("zone_name", "__ZONE_NAME"),
        ("zone_mode", "__ZONE_MODE"),
    ],
)
def test_the_name_on_the_wire_follows_from_that_of_the_field(field_name, wire_name):
    assert to_wire_name(field_name) == wire_name


def test_absent_values_are_left_out_and_booleans_are_lower_case():
    assert encode_header(SampleHeader("n", 1, flag=True)) == {**NEEDED, "checksum": "7", "flag": "true"}
    assert encode_header(SampleHeader("n", 1, flag=False))["flag"] == "false"


def test_unknown_ext_fields_are_ignored():
    assert decode_header(SampleHeader, {**NEEDED, "AccessKey": "k", "ns": ""}) == SampleHeader("n", 1)


@pytest.mark.parametrize("ext_fields", [None, {}, {"brokerId": "1"}, {"Name": "n", "brokerId": "1"}])
def test_a_missing_required_field_is_named(ext_fields):
    with pytest.raises(RequestError, match="SampleHeader: the field name is missing") as raised:
        decode_header(SampleHeader, ext_fields)
    assert raised.value.code == 1


@pytest.mark.parametrize("name", ["name", "brokerId"])
def test_t47_an_empty_required_field_counts_as_absent(name):
    with pytest.raises(RequestError, match=f"the field {name} is empty"):
        decode_header(SampleHeader, {**NEEDED, name: ""})


def test_an_empty_optional_field_counts_as_absent_unless_it_is_a_value():
    header = decode_header(SampleHeader, {**NEEDED, "value": "", "size": "", "flag": "", "__ZONE_NAME": ""})
    assert header == SampleHeader("n", 1, value="")


@pytest.mark.parametrize(
    ("text", "meant"),
    [("true", True), ("TRUE", True), ("tRuE", True), ("1", False), ("yes", False), (" true", False)],
)
def test_only_the_word_true_is_true(text, meant):
    assert decode_header(SampleHeader, {**NEEDED, "flag": text}).flag is meant


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("+7", 7), ("-7", -7), ("007", 7), (str(INT64_MAX), INT64_MAX), (str(INT64_MIN), INT64_MIN)],
)
def test_numbers_are_read_as_java_does(text, number):
    assert decode_header(SampleHeader, {**NEEDED, "brokerId": text}).broker_id == number


@pytest.mark.parametrize(
    "text", ["abc", " 1", "1 ", "1_0", "0x1", "1.0", "+", "-", "--1", "\uff11", "1\n", "9" * 5_000]
)
def test_what_java_does_not_read_is_named_with_its_field(text):
    with pytest.raises(RequestError, match="the field brokerId is not a decimal number: '") as raised:
        decode_header(SampleHeader, {**NEEDED, "brokerId": text})
    assert len(raised.value.remark) < 200


@pytest.mark.parametrize(
    ("name", "text"),
    [("brokerId", str(INT64_MAX + 1)), ("brokerId", str(INT64_MIN - 1)), ("size", str(2**31))],
)
def test_numbers_out_of_range_are_named_with_their_field(name, text):
    with pytest.raises(RequestError, match=f"the field {name} is out of range: '{text}'"):
        decode_header(SampleHeader, {**NEEDED, name: text})


@pytest.mark.parametrize("text", ["2147483648", "4294967295", "abc", "", "9" * 5_000])
def test_a_lax_number_that_java_ignores_keeps_its_default(text):
    assert decode_header(SampleHeader, {**NEEDED, "checksum": text}).checksum == 7


def test_a_lax_number_that_java_reads_is_read():
    assert decode_header(SampleHeader, {**NEEDED, "checksum": "-1"}).checksum == -1


def test_parse_decimal_keeps_to_the_bounds_it_is_given():
    assert parse_decimal("3", 0, 3) == 3
    with pytest.raises(ValueError, match="out of range"):
        parse_decimal("4", 0, 3)
