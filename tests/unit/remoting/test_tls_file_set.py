from pathlib import Path

import pytest

from namekeeper.errors import ConfigError
from namekeeper.remoting.tls_file_set import ATTEMPTS, FileSet, build_from_one_set
from namekeeper.remoting.tls_settings import TlsSettings


def settings(folder: Path) -> TlsSettings:
    return TlsSettings(server_cert_path=str(folder / "cert"), server_key_path=str(folder / "key"))


def test_files_that_change_while_they_are_read_are_read_again(tmp_path: Path):
    (tmp_path / "cert").write_text("old")
    seen = []

    def build(_: TlsSettings) -> str:
        seen.append((tmp_path / "cert").read_text())
        (tmp_path / "cert").write_text("new")
        return seen[-1]

    found, built = build_from_one_set(lambda: settings(tmp_path), build)
    assert (seen, built) == (["old", "new"], "new")
    assert found == FileSet.read(lambda: settings(tmp_path))


def test_a_failure_that_a_change_explains_is_no_failure(tmp_path: Path):
    def build(_: TlsSettings) -> str:
        if not (tmp_path / "cert").exists():
            (tmp_path / "cert").write_text("new")
            raise ConfigError("there is none")
        return "built"

    assert build_from_one_set(lambda: settings(tmp_path), build)[1] == "built"


def test_files_that_never_rest_are_given_up(tmp_path: Path):
    count = 0

    def build(_: TlsSettings) -> None:
        nonlocal count
        count += 1
        (tmp_path / "key").write_text(str(count))

    with pytest.raises(ConfigError, match="change all the time"):
        build_from_one_set(lambda: settings(tmp_path), build)
    assert count == ATTEMPTS


def test_settings_that_can_not_be_read_are_a_set_of_their_own():
    def fails() -> TlsSettings:
        raise ConfigError("the file is broken")

    assert FileSet.read(fails) == FileSet(None, "the file is broken")
    with pytest.raises(ConfigError, match="the file is broken"):
        build_from_one_set(fails, lambda settings: settings)


def test_every_file_of_either_side_counts(tmp_path: Path):
    for name in (
        "server_cert",
        "server_key",
        "server_trust_cert",
        "client_cert",
        "client_key",
        "client_trust_cert",
    ):
        given = TlsSettings(**{f"{name}_path": str(tmp_path / name)})
        without = FileSet.read(lambda given=given: given)
        (tmp_path / name).write_text("there")
        assert FileSet.read(lambda given=given: given) != without
