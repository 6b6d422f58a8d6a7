"""Rows that come to this process; that Spark reads their files is in tests/spark/test_small_runs.py."""

from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.store.few_rows import MOST_VALUES, few_rows, parquet_file, parted, rows_of_files
from namekeeper.pipeline.store.literals import MOST_LITERALS

ROWS = pa.table({"day": ["2026-03-02", "a/b=c", "2026-03-02"], "k": [3, 2, 1]})


class Rows:
    """A DataFrame with a number of rows."""

    def __init__(self, count: int) -> None:
        self._count = count

    def limit(self, most: int) -> Self:
        return type(self)(min(self._count, most))

    def toArrow(self) -> pa.Table:  # noqa: N802 -- Spark's name
        return pa.table({"k": range(self._count)})


def rows(count: int) -> Any:
    return Rows(count)


@pytest.mark.parametrize(("count", "found"), [(0, 0), (MOST_VALUES, MOST_VALUES), (MOST_VALUES + 1, None)])
def test_more_than_few_rows_stay_with_spark(count: int, found: int | None):
    table = few_rows(rows(count))
    assert (None if table is None else table.num_rows) == found


TYPES = {"day": "string", "k": "bigint", "is_new": "boolean"}


def test_small_data_files_are_read_here_and_lack_new_columns(tmp_path: Path):
    folder = open_folder(str(tmp_path))
    files = {
        "a": ROWS.append_column("more", [[[1], [2], [3]]]),
        "b": ROWS.slice(1, 1).append_column("is_new", [[True]]),
    }
    for name, table in files.items():
        folder.put_stream(name, parquet_file(table))
    found = rows_of_files(folder, ["a", "b"], TYPES)
    assert found is not None
    assert found.to_pylist() == [
        {"day": "2026-03-02", "k": 3, "is_new": None},
        {"day": "a/b=c", "k": 2, "is_new": None},
        {"day": "2026-03-02", "k": 1, "is_new": None},
        {"day": "a/b=c", "k": 2, "is_new": True},
    ]


def test_files_that_cannot_be_part_of_a_statement_are_left_to_spark(tmp_path: Path):
    folder = open_folder(str(tmp_path))
    (tmp_path / "damaged").write_bytes(b"PAR1")
    folder.put_stream("many", parquet_file(pa.table({"k": range(MOST_LITERALS // len(TYPES) + 1)})))
    folder.put_stream("lists", parquet_file(pa.table({"k": [[1]]})))
    assert rows_of_files(folder, ["damaged"], TYPES) is None
    assert rows_of_files(folder, ["missing"], TYPES) is None
    assert rows_of_files(folder, ["many"], TYPES) is None
    assert rows_of_files(folder, ["lists"], {"k": "array<bigint>"}) is None
    none = rows_of_files(folder, [], {"k": "array<bigint>"})
    assert none is not None
    assert none.num_rows == 0


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
