"""Rows that come to this process; that Spark reads their files is in tests/spark/test_small_runs.py."""

from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from namekeeper.pipeline.store.few_rows import MOST_VALUES, as_values, few_rows, parquet_file, parted

ROWS = pa.table({"day": ["2026-03-02", "a/b=c", "2026-03-02"], "k": [3, 2, 1]})


class Rows:
    """A DataFrame with a number of rows, and the session that makes another one of values."""

    schema = "k bigint"

    def __init__(self, count: int) -> None:
        self._count = count
        self.sparkSession = self

    def limit(self, most: int) -> Self:
        return type(self)(min(self._count, most))

    def toArrow(self) -> pa.Table:  # noqa: N802 -- Spark's name
        return pa.table({"k": range(self._count)})

    def createDataFrame(self, table: pa.Table, schema: str) -> tuple[int, str]:  # noqa: N802 -- Spark's name
        return table.num_rows, schema


def rows(count: int) -> Any:
    return Rows(count)


@pytest.mark.parametrize("count", [0, MOST_VALUES])
def test_few_rows_become_values_of_a_plan(count: int):
    assert as_values(rows(count)) == (count, "k bigint")  # type: ignore[comparison-overlap]


def test_more_rows_stay_with_spark():
    assert few_rows(rows(MOST_VALUES + 1)) is None
    assert as_values(rows(MOST_VALUES + 1)) is None


def test_a_partition_has_its_rows_by_key_and_a_value_that_fits_a_path():
    found = {value: table["k"].to_pylist() for value, table in parted(ROWS, "day", ("day", "k"))}
    assert found == {"2026-03-02": [1, 3], "a%2Fb%3Dc": [2]}
    lists = ROWS.append_column("list", [[[2], [3], [1]]])
    assert {value: table["k"].to_pylist() for value, table in parted(lists, "day", ("list", "k"))} == found
    assert list(parted(ROWS.slice(0, 0), "day", ("k",))) == []


def test_a_file_has_no_traces_of_arrow():
    file = parquet_file(ROWS)
    assert pq.read_metadata(file).metadata is None
    assert pq.read_table(file).equals(ROWS)
