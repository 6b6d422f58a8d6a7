"""The SQL is data of the package, without values in it."""

import re
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from namekeeper.pipeline import gold_steps
from namekeeper.pipeline.gold_sql import sql_text
from namekeeper.pipeline.gold_steps import make_gold
from tests.support.duck import Duck
from tests.support.journal_histories import histories
from tests.support.law import records_of

FOLDER = Path(str(files("namekeeper.pipeline"))) / "sql"
NAMES = sorted(path.stem for path in FOLDER.glob("*.sql"))


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_is_for_and_names_its_parameters(name: str):
    text = sql_text(name)
    assert text.startswith("-- ")
    assert text.endswith("\n")
    assert max(map(len, text.splitlines())) <= 120
    parameters = set(re.findall(r":([a-z_]+)", re.sub(r"--.*", "", text)))
    assert parameters <= {
        "forever", "zone", "shortest_ms", "block_records", "look_from", "look_to", "cut_from", "cut_to",
        "sample_from", "memory_ms", "witness_after_ms", "least_samples", "lag_limit_ms", "frame_limit_bytes",
    }  # fmt: skip


def test_every_query_is_used(monkeypatch: pytest.MonkeyPatch):
    asked = set()

    def text(name: str) -> str:
        asked.add(name)
        return sql_text(name)

    monkeypatch.setattr(gold_steps, "sql_text", text)
    monkeypatch.setattr("namekeeper.pipeline.gold_history.sql_text", text)
    duck = Duck()
    make_gold(duck, duck.load(records_of(histories(1, 1))))
    assert asked == set(NAMES)


VIEWS = {
    "seen the same": [("a", "read 8", 0, 90), ("b", "read 8", 0, 90)],
    "seen otherwise": [("a", "read 8", 0, 90), ("b", "read 4", 0, 90)],
    "lacking at one": [("a", "read 8", 0, 90)],
    "late at one": [("a", "read 8", 0, 90), ("b", "read 8", 30, 90)],
}


@pytest.mark.parametrize(
    ("topic", "drifts"),
    [
        ("seen the same", []),
        ("seen otherwise", [(0, 90, ["a: read 8", "b: read 4"])]),
        ("lacking at one", [(0, 90, ["a: read 8", "b: absent"])]),
        ("late at one", [(0, 30, ["a: read 8", "b: absent"])]),
    ],
)
def test_name_servers_that_see_a_topic_otherwise_or_not_at_all_disagree_about_it(
    topic: str, drifts: list[tuple[int, int, list[str]]]
):
    assert drifts_of(["a", "b"])[topic] == drifts


def test_a_name_server_that_is_alone_disagrees_with_nobody():
    assert drifts_of(["a"]) == {topic: [] for topic in VIEWS}


def drifts_of(servers: list[str]) -> dict[str, list[tuple[int, int, list[str]]]]:
    """When these name servers disagree about each topic of VIEWS: from, to and what they see."""
    duck = Duck()
    duck.put(
        "held_name",
        "namesrv string, broker_name string, is_open boolean, valid_from bigint, valid_to bigint",
        [(server, "broker-1", False, 0, 90) for server in servers],
    )
    duck.put("name_cluster", "broker_name string, cluster string", [("broker-1", "c")])
    duck.put("name_server_clock_daily", "namesrv string, day string, offset_ms bigint", [])
    duck.put(
        "held_view",
        "namesrv string, cluster string, broker_name string, topic string, seen string, raw_from bigint,"
        " raw_to bigint, valid_from bigint, valid_to bigint",
        [
            (server, "c", "broker-1", topic, seen, start, end, start, end)
            for topic, views in VIEWS.items()
            for server, seen, start, end in views
            if server in servers
        ],
    )
    text = sql_text("computed_view_drift_topic")
    duck.define("found", text, {"zone": "UTC", "cut_from": -10, "cut_to": 1_000})
    found: dict[str, list[tuple[int, int, list[str]]]] = {topic: [] for topic in VIEWS}
    for row in duck.rows("found"):
        found[row["topic"]].append((row["valid_from"], row["valid_to"], row["views"]))
    return found


def test_it_is_found_in_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("zipped_pipeline/__init__.py", "")
        archive.writestr("zipped_pipeline/sql/one.sql", "SELECT 1\n")
    monkeypatch.syspath_prepend(tmp_path / "p.zip")
    assert (files("zipped_pipeline") / "sql" / "one.sql").read_text() == "SELECT 1\n"
