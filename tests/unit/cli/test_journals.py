"""The journals of the name servers of this host are found without being named."""

import pytest
from click.testing import CliRunner

from namekeeper.cli.group import namekeeper
from namekeeper.cli.journals import journals_of_this_host
from namekeeper.errors import ConfigError
from tests.unit.answers.story import Story


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("NAMEKEEPER_JOURNAL_PATH", "NAMEKEEPER_KV_CONFIG_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def a_journal(folder, namesrv="ns_9876"):
    story = Story(namesrv)
    story.registers()
    story.folder(folder)
    return str(folder)


def test_why_as_the_readme_types_it(home):
    """`why TOPIC --at "2 hours ago"`, without the name of any folder."""
    for port in ("9876", "9877"):
        a_journal(home / "namesrv/journal" / port, f"ns_{port}")
    result = CliRunner().invoke(namekeeper, ["why", "T", "--zone", "UTC"])
    assert result.exit_code == 0, result.output
    assert result.output.count("it had a route with queues to write to") == 2
    result = CliRunner().invoke(namekeeper, ["why", "T", "--at", "2 hours ago"])
    assert result.exit_code == 3
    assert "the last record is older" in result.output


def test_route_at_finds_them_by_a_properties_file(home):
    a_journal(home / "data/journal/1234")
    (home / "a.properties").write_text(f"kvConfigPath={home}/data/kv.json\n")
    found = CliRunner().invoke(namekeeper, ["route-at", "T", "-c", str(home / "a.properties")])
    assert "b0" in found.output


def test_a_journal_path_is_where_the_file_says(home):
    folder = a_journal(home / "elsewhere")
    file = home / "b.properties"
    file.write_text(f"journalPath={folder}\n")
    assert journals_of_this_host([str(file), str(file)]) == [folder]


def test_where_it_was_looked_for_is_said(home):
    with pytest.raises(ConfigError, match=f"there is no journal in {home}/namesrv/journal/<port>: give"):
        journals_of_this_host([])
    result = CliRunner().invoke(namekeeper, ["why", "T"])
    assert (result.exit_code, "give --journal DIR" in result.output) == (2, True)


def test_a_warehouse_and_journals_at_once_are_refused(home):
    result = CliRunner().invoke(namekeeper, ["why", "T", "--warehouse", "w", "-c", "x"])
    assert (result.exit_code, "give either --warehouse URI" in result.output) == (2, True)
