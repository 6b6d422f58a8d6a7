"""Every column of numbers says what it counts, and a day that it is one."""

import pytest

from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.table import Column
from namekeeper.pipeline.units import unit_of


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("idle_ms bigint", "ms"),
        ("valid_from bigint", "ms since 1970"),
        ("to_ts bigint", "ms since 1970"),
        ("under_5s bigint", "how many"),
        ("previous_boot bigint", "number"),
        ("body_bytes bigint", "bytes"),
        ("frame_used double", "0 to 1"),
        ("topic string", ""),
        ("valid_to_day string", "day"),
        ("day date", ""),
        ("gone boolean", ""),
    ],
)
def test_the_unit_of_a_column(column: str, unit: str):
    assert unit_of(Column(*column.split(), "")) == unit


def test_every_column_of_numbers_and_every_day_has_one():
    for table in (*GOLD.values(), *FACTS.values()):
        for column in table.columns:
            has_unit = column.type in {"bigint", "int", "double"} or column.name.endswith("day")
            assert bool(unit_of(column)) == has_unit or "<" in column.type


def test_a_column_that_nobody_thought_of_is_refused():
    with pytest.raises(LookupError, match="'weight'"):
        unit_of(Column("weight", "bigint", "Who knows."))
