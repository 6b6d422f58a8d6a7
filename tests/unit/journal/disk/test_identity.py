"""Whose folder it is is written once, and read back or refused."""

import pytest

from namekeeper.errors import JournalError
from namekeeper.journal.disk.identity import IDENTITY_FILE, Identity, load_identity, save_identity

ONE = Identity("mq1_9876", "0123abcd-0000-4000-8000-0123456789ab")


def test_what_is_saved_is_loaded(tmp_path):
    assert load_identity(str(tmp_path)) is None
    save_identity(str(tmp_path), ONE)
    assert load_identity(str(tmp_path)) == ONE
    assert ONE.uuid8 == "0123abcd"


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b'{"namesrv":"a"}', b'{"namesrv":1,"uuid":2}', b"\xff", b'{"a":' * 100_000,
        b'{"namesrv":"a","uuid":"x"}', b'{"namesrv":"../a","uuid":"0123abcd-0000-4000-8000-0123456789ab"}',
        b'{"namesrv":"a","uuid":"0123ABCD-0000-4000-8000-0123456789ab"}',
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_what_to_do(tmp_path, text):
    (tmp_path / IDENTITY_FILE).write_bytes(text)
    with pytest.raises(JournalError, match=r"identity\.json is not valid .* restore it from a copy"):
        load_identity(str(tmp_path))


def test_what_can_not_be_read_is_an_error_of_the_system(tmp_path):
    (tmp_path / IDENTITY_FILE).mkdir()
    with pytest.raises(PermissionError, match="not a regular file"):
        load_identity(str(tmp_path))
