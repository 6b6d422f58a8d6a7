"""What the tables of a warehouse mean."""

import json

from click.testing import CliRunner, Result

from namekeeper.cli.group import namekeeper
from namekeeper.pipeline.entry.readable import READABLE_VIEWS
from namekeeper.pipeline.entry.views import ENTRY_VIEWS
from namekeeper.pipeline.gold.tables import GOLD
from namekeeper.pipeline.schema import FACTS


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
