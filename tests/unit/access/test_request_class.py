"""A code without a class would be handled without a rule."""

import re
from pathlib import Path

from namekeeper.access.names import NAMED
from namekeeper.access.request_class import CLASSES, PLANNING_REQUESTS, TAKING_OVER, codes_of
from namekeeper.messages.catalogue import CATALOGUE, Handling, NameKind, RequestClass
from namekeeper.messages.fields import to_wire_name
from namekeeper.processor.dispatch import CHANGERS, LISTERS, READERS
from namekeeper.processor.touched import SPEAKS_FOR_AN_ADDRESS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "access.md"
LIMITED = {
    "clusterName": NameKind.CLUSTERS,
    "cluster": NameKind.CLUSTERS,
    "brokerName": NameKind.BROKERS,
    "topic": NameKind.TOPICS,
    "namespace": NameKind.NAMESPACES,
}
"""Fields that have a name which rules can limit."""
HANDLED = {code for code, entry in CATALOGUE.items() if entry.handling is not Handling.SENT}


def test_every_code_that_is_handled_has_a_class():
    assert set(map(int, CLASSES)) == HANDLED
    assert set(map(int, [*READERS, *LISTERS, *CHANGERS])) == HANDLED


def test_what_changes_something_is_not_of_the_class_read():
    reading = codes_of(RequestClass.READ)
    assert reading == {int(code) for code in [*READERS, *LISTERS] if CLASSES[code] is not RequestClass.BROKER}
    assert not reading & set(CHANGERS)


def test_the_classes_are_those_of_the_design():
    assert codes_of(RequestClass.BROKER) == {103, 104, 217, 322, 901, 904}
    assert codes_of(RequestClass.ADMIN) == {100, 102, 205, 216, 318, 327}


def test_names_that_rules_limit_are_fields_of_the_requests():
    for code in NAMED.keys() & CLASSES.keys():
        kinds, header = NAMED[code], CATALOGUE[int(code)].request_header
        assert header is not None
        fields = set(map(to_wire_name, header.__struct_fields__))
        assert {field for field in kinds.values() if field} <= fields, code


def test_every_name_in_a_request_can_be_limited():
    for code in HANDLED:
        header = CATALOGUE[code].request_header
        fields = () if header is None else map(to_wire_name, header.__struct_fields__)
        assert {field: LIMITED[field] for field in fields if field in LIMITED} == {
            field: kind for kind, field in NAMED.get(code, {}).items() if field
        }, code


def test_who_names_a_broker_is_also_about_its_cluster():
    for code, kinds in NAMED.items():
        assert NameKind.BROKERS not in kinds or NameKind.CLUSTERS in kinds, code


def test_requests_about_an_address_are_about_the_name_that_the_address_has():
    assert {103, 104, 322, 904} == SPEAKS_FOR_AN_ADDRESS
    assert {103, 104} == TAKING_OVER


def test_the_page_has_the_classes_and_the_names_of_each_code():
    rows = re.findall(r"^\| (.+) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    classes = {name: codes for name, codes in rows if name.strip("`") in set(RequestClass)}
    assert classes == {
        f"`{each.value}`": ", ".join(map(str, sorted(codes_of(each)))) for each in RequestClass
    }
    names = {
        int(code): {NameKind(kind.strip("`")) for kind in kinds.split(", ")}
        for codes, kinds in rows
        if re.fullmatch(r"[0-9, ]+", codes) and kinds.startswith("`")
        for code in codes.split(", ")
    }
    assert names == {code: set(NAMED[code]) for code in NAMED.keys() & CLASSES.keys()}
    (planned,) = (kinds for name, kinds in rows if name == "`planning`" and kinds.startswith("`"))
    assert planned == ", ".join(f"`{kind.value}`" for kind in NAMED[PLANNING_REQUESTS])
