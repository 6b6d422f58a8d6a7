"""The tools answer from a warehouse what the commands answer from it."""

import json
from datetime import UTC
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from namekeeper.cli.commands.mcp import asking_commands
from namekeeper.cli.group import namekeeper
from namekeeper.cli.history import EXIT_NOT_KNOWN
from namekeeper.cli.warehouse import WarehouseAnswers
from namekeeper.clock import SystemClock
from namekeeper.errors import ConfigError
from namekeeper.mcp.answers import Sources
from namekeeper.mcp.tools import TOOLS, answer_question, schema_of
from tests.support.pipeline.file_warehouse import FileWarehouse, file_warehouse


@pytest.fixture(scope="module")
def warehouse() -> FileWarehouse:
    return file_warehouse()


def no_spark() -> Any:
    raise AssertionError("DuckDB reads Parquet")


def ask(uri: str, tool: str, **arguments: Any) -> dict[str, Any]:
    sources = Sources(
        list, lambda _topic: {}, SystemClock(), UTC, warehouse=lambda: WarehouseAnswers(uri, no_spark),
        asking=asking_commands,
    )  # fmt: skip
    found = answer_question(TOOLS[tool], sources, arguments)
    jsonschema.validate(found, schema_of(TOOLS[tool].answer))
    return found


def command(uri: str, *words: str) -> Any:
    result = CliRunner().invoke(namekeeper, [*words, "--json", "--zone", "UTC", "--warehouse", uri])
    assert result.exit_code in {0, 1, EXIT_NOT_KNOWN}, result.output
    return json.loads(result.stdout)


def test_answers_from_a_warehouse_are_those_of_the_commands(warehouse: FileWarehouse):
    uri, world = warehouse.uri, warehouse.law.histories[0]
    records = [record for some in world.records.values() for record in some]
    at = str((records[0]["ts"] + records[-1]["ts"]) // 2)
    topic = next(row[0] for record in records if record["kind"] == "topic_queues" for row in record["rows"])
    why = ask(uri, "why", topic=topic, at=at)
    assert why["explanations"] == command(uri, "why", topic, "--at", at)[: len(why["explanations"])]
    assert ask(uri, "route_at", topic=topic, at=at)["known"]
    begin = str(records[0]["ts"])
    entries = ask(uri, "history", name=topic, **{"from": begin, "to": at})
    assert entries["total"] == len(command(uri, "history", topic, "--from", begin, "--to", at))
    assert [each["namesrv"] for each in entries["known"]] == WarehouseAnswers(uri, no_spark).namesrvs()


def test_incidents_need_journals(warehouse: FileWarehouse):
    for tool in ("incidents", "status"):
        with pytest.raises(ConfigError, match="incidents are found in journals"):
            ask(warehouse.uri, tool)


def test_a_warehouse_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ConfigError) as found:
        ask(str(tmp_path / "none"), "why", topic="orders")
    assert "\n" not in str(found.value)
