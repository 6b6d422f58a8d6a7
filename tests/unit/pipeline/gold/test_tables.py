"""Every gold table is described."""

from namekeeper.pipeline.gold.tables import BY_DAY, GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import names_in


def test_every_table_and_column_is_described_and_every_key_is_there():
    for table in GOLD.values():
        assert table.meaning.endswith("."), table.name
        assert table.grain, table.name
        assert table.key, table.name
        assert set(table.key) <= set(names_in(table)), table.name
        for column in table.columns:
            assert column.meaning.rstrip().endswith("."), (table.name, column.name)
            assert column.type.replace("<", "").isprintable(), (table.name, column.name)


def test_names_are_those_of_one_table_only():
    assert not set(GOLD) & set(FACTS)
    assert all(name == table.name for name, table in GOLD.items())
    for table in GOLD.values():
        assert len(set(names_in(table))) == len(table.columns), table.name


def test_tables_by_day_begin_with_the_day_that_partitions_them():
    for table in BY_DAY:
        assert table.columns[0].name == "day"
        assert table.name in GOLD
