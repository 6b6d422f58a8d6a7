"""The script that asks its own question: run as it is, on a small warehouse of which the answer is known."""

import re
import runpy
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from namekeeper.pipeline.gold.steps import make_gold
from tests.support.pipeline.duck import Duck

pytestmark = [pytest.mark.slow]

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "ask_your_own_question.py"
HOWTO = ROOT / "docs" / "howto" / "ask-your-own-question.md"
START = 1_772_323_200_000
DAY, MINUTE = 86_400_000, 60_000
NASTY = "it's; DROP TABLE --"


class Journal:
    """Records of one boot of a name server, a change at a time."""

    def __init__(self, namesrv: str) -> None:
        self.records: list[dict[str, Any]] = []
        self._namesrv = namesrv
        self.tell(0, {"kind": "server_started", "uuid": "0a1b2c3d-0000-4000-8000-000000000000"})
        self.tell(0, {"kind": "checkpoint_begin", "reason": "start"})
        self.tell(0, {"kind": "checkpoint_end", "counts": {}, "checkpoint": 2})

    def tell(self, after: int, *rows: dict[str, Any], cause: str | None = None) -> None:
        """Write one change, this many ms after the start."""
        first = len(self.records) + 1
        for place, row in enumerate(rows):
            self.records.append({
                **row, "v": 1, "namesrv": self._namesrv, "boot": START, "seq": first + place, "change": first,
                "end": place == len(rows) - 1, "ts": START + after, "up_ms": after, "cause": cause,
            })  # fmt: skip

    def have(self, after: int, *topics: str) -> None:
        rows = [[topic, 4, 4, 6, 0] for topic in topics]
        self.tell(after, {"kind": "topic_queues", "broker_name": "b", "rows": rows}, cause="register_broker")

    def delete(self, after: int, topic: str) -> None:
        self.tell(
            after, {"kind": "topic_queues", "broker_name": "b", "rows": [[topic]]}, cause="delete_topic"
        )

    def lose_broker(self, after: int) -> None:
        self.tell(after, {"kind": "broker_name_removed", "broker_name": "b"}, cause="channel_closed")

    def asked(self, after: int, topic: str, count: int, language: str) -> None:
        minute = (START + after) // MINUTE * MINUTE
        of = {"topic": topic, "count": count, "language": language, "client_version": 500}
        self.tell(after, {"kind": "unknown_topic_minute", "minute": minute, **of})


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Made by DuckDB, because that takes a second and not a minute; the script reads it with Spark."""
    folder = tmp_path_factory.mktemp("examples")
    one, other, now = Journal("ns-1"), Journal("ns-2"), 9 * DAY
    one.have(1_000, "old")
    one.delete(2_000, "old")
    one.have(now, "orders", "payments", NASTY)
    one.lose_broker(now + 10_000)
    one.asked(now + 15_000, "orders", 7, "JAVA")
    one.asked(now + 15_000, "orders", 2, "CPP")
    one.asked(now + 15_000, "never there", 5, "GO")
    one.have(now + 20_000, "orders", "payments")
    one.delete(now + 30_000, "orders")
    other.have(now, "orders")
    other.lose_broker(now + 10_000)
    duck = Duck()
    make_gold(duck, duck.load([*one.records, *other.records]))
    return duck.write_warehouse(folder)


@pytest.fixture(scope="module")
def ask(spark: SparkSession, warehouse: str) -> Callable[..., list[tuple[Any, ...]]]:
    function = runpy.run_path(str(SCRIPT))["topics_that_lost_brokers"]
    return lambda **more: [tuple(row) for row in function(spark, warehouse, **more).collect()]


def test_topics_come_by_how_often_they_lost_a_broker(ask):
    at = [
        datetime.fromtimestamp((START + 9 * DAY + after) / 1_000, UTC).astimezone().replace(tzinfo=None)
        for after in (10_000, 30_000)
    ]
    assert ask() == [
        ("orders", 2, 1, at[1], "b", "delete_topic", 9, ["CPP", "JAVA"]),
        (NASTY, 1, 1, at[0], "b", "channel_closed", 0, []),
        ("payments", 1, 1, at[0], "b", "channel_closed", 0, []),
    ]


def test_it_looks_back_as_far_as_it_is_told(ask):
    assert {row[0] for row in ask(days=30)} - {row[0] for row in ask()} == {"old"}
    assert [row[0] for row in ask(top=1)] == ["orders"]


def test_a_topic_is_data(ask):
    assert [row[0] for row in ask(topic=NASTY)] == [NASTY]
    assert ask(topic="x' OR '1'='1") == []


def test_as_a_program_it_prints_the_answer(spark: SparkSession, warehouse: str, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), warehouse, "--topic", "orders"])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    shown = [[cell.strip() for cell in line.split("|")] for line in capsys.readouterr().out.splitlines()]
    assert [
        "",
        "orders",
        "2",
        "1",
        "2026-03-10 00:00:30",
        "b",
        "delete_topic",
        "9",
        "[CPP, JAVA]",
        "",
    ] in shown


def test_what_the_how_to_shows_runs(spark: SparkSession, warehouse: str):
    blocks = re.findall(r"^```python\n(.*?)^```", HOWTO.read_text(), re.MULTILINE | re.DOTALL)
    session, days, question = (block.replace("/data/warehouse", warehouse) for block in blocks)
    names: dict[str, Any] = {"topic": NASTY}
    exec(session, names)
    exec(days, dict(names))
    exec(f"rows = {question}", names)
    assert [row["topic"] for row in names["rows"].collect()] == []
    names["topic"] = "payments"
    exec(f"rows = {question}", names)
    assert [row["topic"] for row in names["rows"].collect()] == ["payments"]


def test_the_pages_that_the_how_to_names_are_there():
    for page in re.findall(r"\]\(([\w./-]+)\)", HOWTO.read_text()):
        assert (HOWTO.parent / page).exists(), page
