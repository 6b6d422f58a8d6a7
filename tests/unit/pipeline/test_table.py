"""Tables as values."""

from namekeeper.pipeline.table import Column, Table, columns, names_in

TABLE = Table(
    "t", "Things.", "a thing", ("k",), columns("k string: Key: of it.", "m map<string,bigint>: More.")
)


def test_a_line_is_name_type_and_meaning():
    assert TABLE.columns == (Column("k", "string", "Key: of it."), Column("m", "map<string,bigint>", "More."))
    assert names_in(TABLE) == ["k", "m"]


def test_it_is_written_as_ddl():
    assert TABLE.ddl == "`k` string, `m` map<string,bigint>"
