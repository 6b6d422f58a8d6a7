"""A code without a class would be handled without a rule."""

from namekeeper.access.names import NAMED
from namekeeper.access.request_class import CLASSES, RequestClass, codes_of
from namekeeper.messages.catalogue import CATALOGUE
from namekeeper.messages.fields import to_wire_name
from namekeeper.processor.dispatch import CHANGERS, LISTERS, READERS

HANDLED = {code for code, entry in CATALOGUE.items() if not entry.is_sent}


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
    for code, kinds in NAMED.items():
        header = CATALOGUE[int(code)].request_header
        assert header is not None
        fields = set(map(to_wire_name, header.__struct_fields__))
        assert {field for field in kinds.values() if field} <= fields, code
