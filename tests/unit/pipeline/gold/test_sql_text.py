"""The SQL is data of the package, without values in it; shapes that queries share are fragments."""

import re
import zipfile
from importlib.resources import files
from pathlib import Path
from string import Template

import duckdb
import pytest

from namekeeper.pipeline.gold import sql_text as module
from namekeeper.pipeline.gold.sql_text import FRAGMENT, body_of, raw_text, sql_names, sql_text
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import histories
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import records_of
from tests.support.pipeline.topic_views import DRIFTS, VIEWS, drifts_of

NAMES = [name for names in sql_names().values() for name in names]
QUERIES = [name for folder, names in sql_names().items() for name in names if folder != FRAGMENT]


PARAMETERS = {
    "forever", "zone", "shortest_ms", "block_records", "look_from", "look_to", "cut_from", "cut_to",
    "sample_from", "memory_ms", "witness_after_ms", "least_samples", "lag_limit_ms", "frame_limit_bytes",
    "from_ts", "to_ts", "unit_ms", "load_id", "together_ms", "mass_brokers",
    "late_ms", "shared_ms", "shortest_drift_ms", "together_end_ms",
}  # fmt: skip


def test_each_says_what_it_is_for_and_names_its_parameters():
    for name in NAMES:
        text = raw_text(name)
        assert text.startswith("-- "), name
        assert text.endswith("\n"), name
        assert max(map(len, text.splitlines())) <= 120, name
        assert {*re.findall(r":([a-z_]+)", re.sub(r"--.*", "", text))} <= PARAMETERS, name


def test_no_name_is_that_of_two_files():
    assert len(set(NAMES)) == len(NAMES)


def test_no_with_is_inside_another():
    for name in QUERIES:
        text = re.sub(r"--.*", "", sql_text(name)).strip()
        assert not re.search(r"\bWITH\b", text.removeprefix("WITH"), re.IGNORECASE), name


def test_no_value_of_a_fragment_is_left_open():
    for name in QUERIES:
        assert "$" not in sql_text(name), name
        assert "-- include" not in sql_text(name), name


def test_every_file_is_used(monkeypatch: pytest.MonkeyPatch):
    asked = set()

    def text(name: str) -> str:
        asked.add(name)
        return raw_text(name)

    monkeypatch.setattr(module, "raw_text", text)
    duck = Duck()
    records = list(records_of(histories(1, 1)))
    make_gold(duck, duck.load(records))
    make_gold(duck, duck.load(records[:1]))
    assert asked == set(NAMES)


def files_of(monkeypatch: pytest.MonkeyPatch, **texts: str) -> None:
    monkeypatch.setattr(module, "raw_text", texts.__getitem__)


def test_a_fragment_replaces_the_lines_that_include_it(monkeypatch: pytest.MonkeyPatch):
    files_of(
        monkeypatch,
        query="-- What.\nWITH a AS (SELECT 1),\n-- include: island,\n--   rows: a\n"
        "--   when: x = 1\n--     AND y = 2\nz AS (SELECT 2)\nSELECT 3\n",
        island="-- A fragment.\nisland AS (SELECT * FROM $rows WHERE $when)\n",
    )
    assert sql_text("query") == (
        "-- What.\nWITH a AS (SELECT 1),\nisland AS (SELECT * FROM a WHERE x = 1\nAND y = 2),\n"
        "z AS (SELECT 2)\nSELECT 3\n"
    )


def test_a_fragment_may_include_another_and_hand_its_values_on(monkeypatch: pytest.MonkeyPatch):
    files_of(
        monkeypatch,
        query="-- include: outer\n--   rows: a\n",
        outer="-- O.\n-- include: inner\n--   table: $rows\nSELECT * FROM $rows\n",
        inner="-- I.\nSELECT 1 FROM $table\n",
    )
    assert sql_text("query") == "SELECT 1 FROM a\nSELECT * FROM a\n"


def test_a_value_that_is_not_given_is_named(monkeypatch: pytest.MonkeyPatch):
    files_of(monkeypatch, query="-- include: part\n--   row: a\n", part="SELECT $rows\n")
    with pytest.raises(KeyError, match="rows"):
        sql_text("query")


def test_rows_that_no_order_tells_apart_are_of_one_island_however_an_engine_sorts_them():
    """The second window gets the rows that begin at the same time with the first of them last."""
    islands = body_of(raw_text("islands")).partition("$named AS (")[2].rstrip().removesuffix(")")
    numbered = Template(islands).substitute(named="island", key="cluster", order="from_ts")
    start = "('c', 1, 1), ('c', 9, 0), ('c', 9, 1), ('c', 9, 0), ('c', 10, 0)"
    found = duckdb.execute(
        f"WITH start_of_island(cluster, from_ts, is_first) AS (VALUES {start})"
        f" SELECT DISTINCT from_ts, island FROM ({numbered}) ORDER BY ALL"
    )
    assert found.fetchall() == [(1, 1), (9, 2), (10, 2)]


def test_the_header_ends_where_a_fragment_is_included():
    assert body_of("-- What.\n-- reads: a\n-- include: b\n--   c: d\nSELECT 1\n") == (
        "-- include: b\n--   c: d\nSELECT 1\n"
    )


@pytest.mark.parametrize("topic", DRIFTS)
def test_name_servers_that_see_a_topic_otherwise_or_not_at_all_disagree_about_it(topic: str):
    assert drifts_of(["a", "b"])[topic] == DRIFTS[topic]


def test_a_name_server_that_is_alone_disagrees_with_nobody():
    assert drifts_of(["a"]) == {topic: [] for topic in VIEWS}


def test_it_is_found_in_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("zipped_pipeline/__init__.py", "")
        archive.writestr("zipped_pipeline/gold/__init__.py", "")
        archive.writestr("zipped_pipeline/gold/sql/phase/one.sql", "SELECT 1\n")
        archive.writestr("zipped_pipeline/gold/sql/phase/two.sql", "SELECT 2\n")
    monkeypatch.syspath_prepend(tmp_path / "p.zip")
    module._paths.cache_clear()
    module._read.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(module, "files", lambda _: files("zipped_pipeline.gold"))
        assert sql_names() == {"phase": ["one", "two"]}
        assert raw_text("two") == "SELECT 2\n"
    module._paths.cache_clear()
    module._read.cache_clear()
