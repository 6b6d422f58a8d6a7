"""The files of the queries: their headers, and that they run."""

import pytest

from namekeeper.pipeline.answers.queries import query, query_names
from tests.support.pipeline.file_warehouse import FileWarehouse

ARGS = {
    "namesrv": None, "at": 0, "topic": "t", "since": 0, "until": 1, "first_day": None, "last_day": None, "least_ms": 0,
    "brokers": 40, "zone": "UTC", "slice_ms": 3_600_000, "offset_ms": 0, "per_slice": 10, "named_records": 100,
    "name": "t",
}  # fmt: skip


@pytest.mark.parametrize("name", query_names())
def test_a_query_has_the_columns_that_its_header_says(warehouse: FileWarehouse, name: str):
    assert warehouse.tables.columns(name, ARGS) == list(query(name).columns)
