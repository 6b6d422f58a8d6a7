"""The SQL is data of the package, without values in it."""

import re
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from namekeeper.pipeline.gold.sql_text import sql_text
from namekeeper.pipeline.gold.steps import make_gold
from tests.support.history.histories import histories
from tests.support.pipeline.duck import Duck
from tests.support.pipeline.law import records_of
from tests.support.pipeline.topic_views import DRIFTS, VIEWS, drifts_of

FOLDER = Path(str(files("namekeeper.pipeline.gold"))) / "sql"
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
        "from_ts", "to_ts", "unit_ms",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_no_with_is_inside_another(name: str):
    text = re.sub(r"--.*", "", sql_text(name)).strip()
    assert not re.search(r"\bWITH\b", text.removeprefix("WITH "), re.IGNORECASE)


def test_every_query_is_used(monkeypatch: pytest.MonkeyPatch):
    asked = set()

    def text(name: str) -> str:
        asked.add(name)
        return sql_text(name)

    for module in ("history", "steps", "topics"):
        monkeypatch.setattr(f"namekeeper.pipeline.gold.{module}.sql_text", text)
    duck = Duck()
    make_gold(duck, duck.load(records_of(histories(1, 1))))
    assert asked == set(NAMES)


@pytest.mark.parametrize("topic", DRIFTS)
def test_name_servers_that_see_a_topic_otherwise_or_not_at_all_disagree_about_it(topic: str):
    text = sql_text("computed_view_drift_topic")
    assert drifts_of(text, ["a", "b"])[topic] == DRIFTS[topic]


def test_a_name_server_that_is_alone_disagrees_with_nobody():
    text = sql_text("computed_view_drift_topic")
    assert drifts_of(text, ["a"]) == {topic: [] for topic in VIEWS}


def test_it_is_found_in_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        archive.writestr("zipped_pipeline/__init__.py", "")
        archive.writestr("zipped_pipeline/gold/__init__.py", "")
        archive.writestr("zipped_pipeline/gold/sql/one.sql", "SELECT 1\n")
    monkeypatch.syspath_prepend(tmp_path / "p.zip")
    assert (files("zipped_pipeline.gold") / "sql" / "one.sql").read_text() == "SELECT 1\n"
