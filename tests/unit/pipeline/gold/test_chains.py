"""A chain of views is computed in order, and its tables are written."""

from typing import Any

from namekeeper.pipeline.gold.chains import make_chain
from namekeeper.pipeline.gold.gold_graph import gold_graph
from namekeeper.pipeline.gold.sql_file import View


class Engine:
    """Writes down what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def define(self, name: str, sql: str, args: dict, *, keep: bool = False) -> None:
        self.asked.append(("define", name, keep))

    def rows(self, name: str) -> list[dict[str, Any]]:
        return [{"day": "2026-01-01"}, {"day": "open"}]

    def put(self, name: str, ddl: str, rows: list) -> None:
        self.asked.append(("put", name, rows))

    def show(self, name: str, table: Any) -> None:
        self.asked.append(("show", name, table.name))

    def replace(self, table: Any, name: str, **how: Any) -> None:
        self.asked.append(("replace", table.name, name, how))


def asked_for(names: list[str], days: list[str] | None = None, *, is_first: bool = False) -> list[tuple]:
    engine = Engine()
    graph = gold_graph(is_first=is_first)
    make_chain(engine, [graph[name] for name in names], {}, days=days)  # type: ignore[arg-type]
    return engine.asked


def test_a_history_is_written_by_the_partitions_that_are_affected():
    names = ["overlapping_kv_history", "merged_kv_history", "affected_partition_kv_history", "new_kv_history"]
    assert asked_for(names) == [
        ("show", "old_kv_history", "kv_history"),
        ("define", "overlapping_kv_history", False),
        ("define", "merged_kv_history", True),
        ("define", "affected_partition_kv_history", False),
        ("put", "affected_partition_kv_history", [("2026-01-01",), ("open",)]),
        ("define", "new_kv_history", False),
        ("replace", "kv_history", "new_kv_history", {"by": "valid_to_day", "values": ["2026-01-01", "open"]}),
        ("show", "kv_history", "kv_history"),
    ]


def test_the_first_rows_of_a_history_are_all_of_its_partitions():
    assert asked_for(["new_kv_history"], is_first=True) == [
        ("define", "new_kv_history", False),
        ("replace", "kv_history", "new_kv_history", {"by": "valid_to_day", "values": None}),
        ("show", "kv_history", "kv_history"),
    ]


def test_a_table_of_days_is_written_for_these_days():
    assert (
        "replace",
        "broker_flap",
        "new_broker_flap",
        {"by": "day", "values": ["2026-01-01"]},
    ) in asked_for(["new_broker_flap"], ["2026-01-01"])


def test_a_table_without_partitions_is_written_whole():
    assert ("replace", "known_span", "new_known_span", {}) in asked_for(["new_known_span"])


def test_values_are_written_into_the_query():
    engine = Engine()
    engine.rows = lambda name: [{"checkpoint": 7}]  # type: ignore[method-assign]
    texts: list[str] = []
    engine.define = lambda name, sql, args, keep=False: texts.append(sql)  # type: ignore[method-assign]
    view = View(
        "v", "history", "WHERE {starts_a_run}", "", (), frozenset(), filled_from="checkpoint_run_start"
    )
    make_chain(engine, [view], {})  # type: ignore[arg-type]
    assert texts == ["WHERE checkpoint = 7"]
