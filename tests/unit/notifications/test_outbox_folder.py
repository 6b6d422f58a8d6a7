"""The outbox on disk: one owner, atomic, and clear errors."""

import msgspec
import pytest

from namekeeper.errors import ConfigError
from namekeeper.notifications.outbox import Outbox
from namekeeper.notifications.outbox_folder import OUTBOX_FILE, OutboxFolder, read_outbox
from tests.unit.notifications.seen import START, found, sent_until_quiet, settings_of, started


def test_an_outbox_is_the_same_after_a_restart(tmp_path):
    outbox = started(settings_of(), found(from_ts=START - 60_000))
    folder = OutboxFolder(str(tmp_path / "out"))
    assert folder.load() == Outbox()
    folder.save(msgspec.json.encode(outbox))
    folder.close()
    again = OutboxFolder(str(tmp_path / "out"))
    assert again.load() == outbox == read_outbox(str(tmp_path / "out"))
    assert len(sent_until_quiet(again.load(), settings_of(), START)) == 1
    again.close()


def test_one_process_owns_the_folder(tmp_path):
    first = OutboxFolder(str(tmp_path))
    with pytest.raises(ConfigError, match=r"is in use by process .*: stop it, or name another outbox"):
        OutboxFolder(str(tmp_path))
    first.close()
    OutboxFolder(str(tmp_path)).close()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            b'{"receivers": {"r": {"since": 1, "waiting": [{"incident": "gone", "sequence": 1}]}}}',
            "a message waits about an incident that it lacks",
        ),
        (b"{", "is no outbox"),
        (b'{"version": 2}', "later release"),
        (b'{"receivers": 3}', "is no outbox"),
    ],
)
def test_a_file_that_is_no_outbox_is_refused_with_what_to_do(tmp_path, content, reason):
    (tmp_path / OUTBOX_FILE).write_bytes(content)
    with pytest.raises(ConfigError, match=reason):
        read_outbox(str(tmp_path))


def test_a_folder_that_can_not_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="file"):
        OutboxFolder(str(tmp_path / "file" / "out"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / OUTBOX_FILE).mkdir()
    with pytest.raises(ConfigError, match=r"outbox\.json"):
        read_outbox(str(tmp_path / "out"))


def test_there_may_be_no_outbox(tmp_path):
    assert read_outbox(str(tmp_path)) is None
