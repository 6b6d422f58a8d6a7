"""The files of the queries: their headers, and that they run."""

import pytest

from namekeeper.pipeline.answers.queries import query, query_names
from tests.support.pipeline.file_warehouse import FileWarehouse

ARGS = {
    "namesrv": None, "at": 0, "topic": "t", "since": 0, "until": 1, "first_day": None, "last_day": None, "label": None, "least_ms": 0,
    "brokers": 40, "zone": "UTC", "slice_ms": 3_600_000, "offset_ms": 0, "per_slice": 10, "named_records": 100,
    "name": "t",
}  # fmt: skip


def test_names_of_brokers_are_their_names_and_addresses_each_once_in_order(warehouse: FileWarehouse):
    sessions = warehouse.rows("broker_session")
    named = {row[column] for row in sessions for column in ("broker_name", "broker_addr")}
    ended = {row["broker_addr"] for row in sessions if row["valid_to"] is not None}
    found = [row["name"] for row in warehouse.tables.ask("broker_names", {}).rows]
    assert found == sorted(named)
    assert ended
    assert ended <= {*found}, "also of those that went"


@pytest.mark.parametrize("name", query_names())
def test_a_query_has_the_columns_that_its_header_says(warehouse: FileWarehouse, name: str):
    assert warehouse.tables.columns(name, ARGS) == list(query(name).columns)
