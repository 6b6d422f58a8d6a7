"""Answers are cut to their size, and say what was cut; members of structs and of the schema stay."""

import jsonschema
import msgspec
from msgspec import Struct

from namekeeper.mcp.bounds import CHARACTERS, ITEMS, LeftOut, bounded
from namekeeper.mcp.tools import schema_of


class Row(Struct):
    name: str
    values: list[int] = []


class Table(Struct):
    rows: list[Row] | None
    by_name: dict[str, Row]
    text: str = ""


def cut(table: Table, limit_bytes: int = 10**9):
    value = msgspec.to_builtins(table)
    found, left_out = bounded(value, schema_of(Table), limit_bytes=limit_bytes)
    jsonschema.validate(found, schema_of(Table))
    return found, left_out


def test_what_fits_stays_as_it_is():
    table = Table([Row("a", [1, 2])], {"b": Row("b")}, "text")
    assert cut(table) == (msgspec.to_builtins(table), [])


def test_a_long_list_map_and_text_is_cut_and_named():
    table = Table(
        [Row("a")] * (ITEMS + 5), {str(n): Row("b") for n in range(ITEMS + 1)}, "x" * (CHARACTERS + 1)
    )
    found, left_out = cut(table)
    assert (len(found["rows"]), len(found["by_name"]), len(found["text"])) == (ITEMS, ITEMS, CHARACTERS + 3)
    assert left_out == [
        LeftOut("by_name", "items", ITEMS, ITEMS + 1),
        LeftOut("rows", "items", ITEMS, ITEMS + 5),
        LeftOut("text", "characters", CHARACTERS, CHARACTERS + 1),
    ]


def test_lists_in_the_same_place_are_added_up():
    _, left_out = cut(Table([Row("a", [0] * (ITEMS + 1)), Row("b", [0] * (ITEMS + 2)), Row("c")], {}))
    assert left_out == [LeftOut("rows[].values", "items", 2 * ITEMS, 2 * ITEMS + 3)]


def test_a_large_answer_is_cut_until_it_fits():
    table = Table([Row("a" * 200, [0] * 100) for _ in range(100)], {})
    found, left_out = cut(table, 5_000)
    assert len(msgspec.json.encode(found)) <= 5_000
    assert {each.path for each in left_out} == {"rows", "rows[].name", "rows[].values"}


def test_no_member_of_a_struct_is_lost_however_small_the_limit():
    found, _ = cut(Table([Row("a" * 1_000)] * 9, {"x" * 1_000: Row("b")}), 1)
    assert found.keys() == {"rows", "by_name", "text"}
    assert found["rows"][0].keys() == {"name", "values"}
