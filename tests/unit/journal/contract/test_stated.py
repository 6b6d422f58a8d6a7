"""A field is stated once, and what is said of it can be read."""

from typing import Annotated

import msgspec
import pytest
from msgspec import Struct

from namekeeper.journal.contract.kinds import KINDS
from namekeeper.journal.contract.record import BrokerLive
from namekeeper.journal.contract.stated import RowPart, Unit, fields_of, kind_name, meaning_of, stated


class Lamp(Struct, tag="lamp"):
    """A lamp of a corridor.

    It burns or not.
    """

    number: Annotated[int, stated("Number of the lamp.", Unit.NUMBER, part=RowPart.KEY)]
    colour: Annotated[str | None, stated("Colour; absent: white. Older lamps have none.")] = None
    burns: Annotated[bool, stated("Whether it burns.", column=None)] = False


def fields():
    return {field.name: field for field in fields_of(Lamp)}


def test_what_is_said_of_a_field():
    number = fields()["number"]
    assert number.meaning == "Number of the lamp."
    assert (number.json_type, number.unit, number.part) == ("long", Unit.NUMBER, RowPart.KEY)
    assert number.is_required


def test_a_field_with_a_default_is_not_required_and_is_a_value():
    colour = fields()["colour"]
    assert not colour.is_required
    assert (colour.json_type, colour.part) == ("string", RowPart.VALUE)


def test_a_column_has_the_first_sentence_and_null_where_a_line_has_nothing():
    assert fields()["colour"].column == "Colour; null: white."
    assert fields()["burns"].column is None


def test_a_kind_has_a_name_and_a_meaning():
    assert kind_name(Lamp) == "lamp"
    assert meaning_of(Lamp) == "A lamp of a corridor. It burns or not."


def test_statements_change_no_line():
    lamp = Lamp(7, "red")
    assert msgspec.json.encode(lamp) == b'{"type":"lamp","number":7,"colour":"red","burns":false}'
    assert msgspec.json.decode(msgspec.json.encode(lamp), type=Lamp) == lamp


@pytest.mark.parametrize("kind", KINDS, ids=kind_name)
def test_numbers_have_a_unit_and_texts_have_none(kind):
    for field in fields_of(kind):
        numbers = field.json_type in {"long", "array<long>", "map<string,long>"}
        assert (field.unit is not None) == numbers, field.name


def test_a_row_has_a_key_and_one_mark_that_it_is_gone():
    parts = [field.part for field in fields_of(BrokerLive)]
    assert parts.count(RowPart.GONE) == 1
    assert RowPart.KEY in parts
