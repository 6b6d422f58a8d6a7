"""What the tables of a warehouse mean."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from namekeeper.cli.group import namekeeper
from namekeeper.pipeline.entry.readable import READABLE_VIEWS
from namekeeper.pipeline.entry.views import ENTRY_VIEWS
from namekeeper.pipeline.files.folder import open_folder
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS
from namekeeper.pipeline.store.manifest import Catalog, Manifest, commit_manifest


def tables(*words: str) -> Result:
    return CliRunner().invoke(namekeeper, ["pipeline", "tables", *words])


def test_every_view_and_table_is_listed_with_one_sentence():
    lines = tables().stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [*ENTRY_VIEWS, *GOLD, *FACTS, *READABLE_VIEWS]
    assert "incident: The failures, their causes and their cost" in lines


def test_columns_are_shown_with_type_unit_and_meaning():
    lines = tables("capacity_daily").stdout.splitlines()
    assert lines[0] == GOLD["capacity_daily"].meaning
    assert lines[1].startswith("A row is ")
    assert len(lines) == 2 + len(GOLD["capacity_daily"].columns)
    assert "  valid_to bigint (ms since 1970): " in tables("topic_outage_daily").stdout
    assert "  began_at timestamp: When it began." in tables("incidents").stdout.splitlines()
    readable = tables("readable_topic_outage_daily").stdout.splitlines()
    assert "  valid_from timestamp: From when on." in readable
    assert "  day date: Day in the warehouse's time zone, as 2026-03-01." in readable


def test_programs_get_the_same():
    every, (one,) = json.loads(tables("--json").stdout), json.loads(tables("incident", "--json").stdout)
    assert [each["name"] for each in every] == [*ENTRY_VIEWS, *GOLD, *FACTS, *READABLE_VIEWS]
    assert one in every
    assert one["columns"][3] == {
        "name": "from_ts",
        "type": "bigint",
        "meaning": "When it began, ms.",
        "unit": "ms since 1970",
    }


def test_a_misspelt_table_is_refused_with_a_name_that_is_near():
    done = tables("incidenz")
    assert done.exit_code == 2
    assert "there is no table 'incidenz': did you mean incident, or incidents?" in done.stderr


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    """A warehouse in a catalog."""
    manifest = Manifest(1, 2, "Europe/Berlin", "", {}, Catalog("iceberg", "nk.tables", "mark"))
    commit_manifest(open_folder(str(tmp_path)), manifest)
    return str(tmp_path)


def test_statements_make_every_view_of_a_catalog(catalog: str):
    """The Spark tests run them."""
    printed = tables("--ddl", "--warehouse", catalog, "--namespace", "nk.views").stdout
    statements = printed.removesuffix(";\n\n").split(";\n\n")
    assert [each.partition("`nk`.`views`.`")[2].partition("`")[0] for each in statements] == [
        *ENTRY_VIEWS,
        *READABLE_VIEWS,
    ]
    assert all(each.startswith("CREATE OR REPLACE VIEW `nk`.`views`.`") for each in statements)


def test_without_a_namespace_the_views_are_temporary_and_their_days_are_those_of_the_warehouse(catalog: str):
    printed = tables("dim_day", "--ddl", "--warehouse", catalog).stdout
    assert printed.startswith("CREATE OR REPLACE TEMPORARY VIEW `dim_day` (\n")
    assert "'Europe/Berlin'" in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--ddl"], "--ddl needs --warehouse"),
        (["--warehouse", "{}"], "--ddl needs --warehouse"),
        (["--namespace", "nk"], "--ddl needs --warehouse"),
        (["--ddl", "--warehouse", "{}", "--json"], "has no --json"),
        (["--ddl", "--warehouse", "{}", "--namespace", "nk; DROP"], "is no namespace"),
        (["incident", "--ddl", "--warehouse", "{}"], "only views have statements"),
        (["--ddl", "--warehouse", "{}/none"], "is no warehouse"),
    ],
)
def test_statements_for_nothing_are_refused(catalog: str, words: list[str], said: str):
    done = tables(*(word.format(catalog) for word in words))
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_tables_in_files_need_no_statements(tmp_path: Path):
    commit_manifest(open_folder(str(tmp_path)), Manifest(1, 2, "UTC", "", {}))
    done = tables("--ddl", "--warehouse", str(tmp_path))
    assert done.exit_code == 2
    assert "`namekeeper sql` has the views" in done.stderr
