"""What the console shows, and whom it asks."""

import contextlib

import pytest

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.answers.explain import explain
from namekeeper.cli.connecting import Connector
from namekeeper.cli.console_sources import (
    OperatorsPages,
    WarehouseOfConsole,
    pages_in,
    running_source,
    source_of_causes,
)
from namekeeper.cli.failure import CommandRefused
from namekeeper.cli.warehouse import WarehouseAnswers
from namekeeper.console.histories import Histories
from namekeeper.console.journal_folders import JournalFolders
from namekeeper.errors import ConfigError, JournalError, RemotingConnectError
from tests.support.pipeline.file_warehouse import file_warehouse
from tests.unit.answers.story import Story

MIB = 1 << 20


@pytest.fixture
def folders(tmp_path):
    found = []
    for name in ("a_1", "b_1"):
        story = Story(name)
        story.registers()
        found.append(story.folder(tmp_path / name))
    return found


def test_a_folder_may_hold_several_journals(folders, tmp_path):
    histories = Histories(JournalFolders([str(tmp_path)]).open())
    assert [each.history.namesrv for each in histories.followed] == ["a_1", "b_1"]
    again = JournalFolders([*folders, folders[0]]).open()
    assert [name for each in again for name in each.namesrvs()] == ["a_1", "b_1"]


def test_two_journals_of_one_name_server_are_refused(folders, tmp_path):
    again = Story("a_1").folder(tmp_path / "again")
    with pytest.raises(ConfigError, match="are both the journal of a_1"):
        JournalFolders([folders[0], again]).open()


def test_a_folder_without_a_journal_is_refused(tmp_path):
    with pytest.raises(JournalError, match="is not a journal"):
        JournalFolders([str(tmp_path)]).open()


def test_each_address_of_a_list_is_asked_once():
    source = running_source(("127.0.0.1:1;127.0.0.1:2", "127.0.0.1:1"), Connector(lambda: None), 5)
    assert source.namesrvs() == ["127.0.0.1:1", "127.0.0.1:2"]


def test_name_servers_with_another_label_are_left_out(monkeypatch, capsys):
    """So is one that does not answer."""
    labels = {"127.0.0.1:1": "east", "127.0.0.1:2": "west"}

    async def config_of(namesrv: Namesrv) -> dict[str, str]:
        if namesrv.addr not in labels:
            raise RemotingConnectError(namesrv.addr, "refused")
        return {"clusterLabel": labels[namesrv.addr]}

    monkeypatch.setattr(operations, "get_namesrv_config", config_of)
    addrs, connector = ("127.0.0.1:1;127.0.0.1:2;127.0.0.1:3",), Connector(contextlib.nullcontext)
    assert running_source(addrs, connector, 5, "west").namesrvs() == ["127.0.0.1:2"]
    assert "127.0.0.1:3 is left out: its label is not known: " in capsys.readouterr().err
    with pytest.raises(ConfigError, match="there is no cluster 'north': the labels are east, west"):
        running_source(addrs, connector, 5, "north")


def no_session():
    raise AssertionError("files need no Spark")


@pytest.fixture
def uri() -> str:
    return file_warehouse().uri


def test_a_warehouse_has_a_history_for_each_name_server(uri):
    histories = Histories([WarehouseOfConsole(uri, no_session).history()])
    assert [each.history.namesrv for each in histories.followed] == WarehouseAnswers(
        uri, no_session
    ).namesrvs()


def test_why_is_what_why_says_of_the_warehouse(uri):
    source = WarehouseOfConsole(uri, no_session).source()
    wanted = WarehouseAnswers(uri, no_session).evidence("payments", None)
    assert explain(source.evidence("payments", None)) == explain(wanted)


def test_a_warehouse_that_is_not_there_is_refused(tmp_path):
    missing = WarehouseOfConsole(str(tmp_path / "none"), no_session)
    with pytest.raises(CommandRefused):
        missing.history()
    with pytest.raises(ConfigError):
        missing.source()


def test_a_warehouse_that_goes_meanwhile_is_told_on_the_page(uri, monkeypatch):
    source = WarehouseOfConsole(uri, no_session).source()

    def refused(*_):
        raise CommandRefused("it is gone")

    monkeypatch.setattr(WarehouseAnswers, "evidence", refused)
    with pytest.raises(ConfigError, match="it is gone"):
        source.evidence("payments", None)


def test_causes_are_found_in_a_warehouse_then_in_folders_then_at_operators_pages(uri, folders):
    pages = OperatorsPages(pages_in(["127.0.0.1:1"]), "")
    in_warehouse = source_of_causes((), WarehouseOfConsole(uri, no_session), pages, MIB)
    assert in_warehouse().namesrvs() == WarehouseAnswers(uri, no_session).namesrvs()
    assert source_of_causes(folders, None, pages, MIB)().namesrvs() == ["a_1", "b_1"]
    with pytest.raises(JournalError, match="can't read the journal over http"):
        source_of_causes((), None, pages, MIB)()
    assert source_of_causes((), None, OperatorsPages([], ""), MIB) is None


def test_causes_have_as_much_memory_as_the_console_says(folders):
    pages = OperatorsPages([], "")
    for limit_bytes, notes in ((MIB, 0), (1, 4)):
        source = source_of_causes(folders, None, pages, limit_bytes)()
        source.evidence("T", None)
        assert len(source.notes) == notes


def test_operators_pages_that_can_not_be_asked_say_so():
    assert not OperatorsPages([], "")
    assert OperatorsPages([], "").who_knows("T") == {}
    (error,) = OperatorsPages(pages_in(["127.0.0.1:1"]), "").who_knows("T").values()
    assert isinstance(error, RemotingConnectError)
