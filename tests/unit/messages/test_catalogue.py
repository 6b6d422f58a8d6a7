"""The catalogue is complete and consistent."""

import re
from pathlib import Path

import pytest

from namekeeper.messages.catalogue import CATALOGUE, OLD, Handling
from namekeeper.messages.fields import decode_header, encode_header, to_wire_name
from namekeeper.wire.codes import RequestCode, version_ordinal

ENTRIES = list(CATALOGUE.values())
PROTOCOL = Path(__file__).parents[3] / "docs" / "reference" / "protocol.md"


def test_every_request_code_is_in_it_in_order():
    assert list(CATALOGUE) == sorted(RequestCode)
    assert all(CATALOGUE[code].code == code for code in RequestCode)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_says_what_it_is_in_one_line(entry):
    assert entry.name == RequestCode(entry.code).name
    assert re.fullmatch(r"[^\n]{5,100}", entry.meaning)
    assert entry.since == OLD or version_ordinal(entry.since) > 213


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_headers_are_named_as_in_java(entry):
    if entry.request_header is not None:
        assert entry.request_header.__name__.endswith("RequestHeader")
    if entry.response_header is not None:
        assert entry.response_header.__name__.endswith("ResponseHeader")


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        (100, ["namespace", "key", "value"]),
        (104, ["brokerName", "brokerAddr", "clusterName", "brokerId"]),
        (105, ["topic", "acceptStandardJsonOnly", "__ZONE_MODE", "__ZONE_NAME"]),
        (216, ["topic", "clusterName"]),
        (224, ["cluster"]),
        (901, ["clusterName", "brokerName"]),
    ],
)
def test_fields_are_those_of_2_0(code, fields):
    assert [to_wire_name(name) for name in CATALOGUE[code].request_header.__struct_fields__] == fields


def test_response_headers_exist_where_java_has_them():
    rows = re.findall(
        r"^\| (\d+) \| [A-Z_]+ \|(?:[^|]*\|){3} ([^|]*)\|[^|]*\|$", PROTOCOL.read_text(), re.MULTILINE
    )
    answers = {int(code): fields for code, fields in rows}
    with_header = {code for code, entry in CATALOGUE.items() if entry.response_header is not None}
    assert with_header & answers.keys() == {code for code, fields in answers.items() if fields} != set()


def test_only_the_notification_is_sent():
    assert [code for code, entry in CATALOGUE.items() if entry.handling is Handling.SENT] == [905]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_header_can_be_read_and_written(entry):
    for header_type in (entry.request_header, entry.response_header):
        if header_type is not None:
            fields = {to_wire_name(name): "1" for name in header_type.__struct_fields__}
            assert encode_header(decode_header(header_type, fields)).keys() == fields.keys()
