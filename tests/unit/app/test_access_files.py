"""Rules are taken over as a whole or not at all, and a problem with them is said once."""

import asyncio
import errno
import os
from functools import partial
from pathlib import Path

import pytest

from namekeeper.app import access_files
from namekeeper.app.access_files import FILE_LIMIT, AccessFiles, read_policy
from namekeeper.errors import ConfigError
from tests.support.system.waiting import eventually

RULES = 'mode = "{mode}"\nkeys = "keys.toml"\n[[rule]]\nname = "r"\nrequests = ["read"]\nusers = ["ops"]\n'


@pytest.fixture
def file(tmp_path):
    file = tmp_path / "access.toml"
    file.write_text(RULES.format(mode="audit"))
    keys = tmp_path / "keys.toml"
    keys.write_text('[users]\nops = { env = "KEY" }\n')
    keys.chmod(0o640)
    return file


def read(path):
    return read_policy(str(path), {"KEY": "k"})


def test_rules_and_keys_are_read_together(file):
    found = read(file)
    assert found.policy.keys == {"ops": ("k",)}
    assert [rule.name for rule in found.policy.rules.rules] == ["r"]
    assert read(file).digest == found.digest
    (file.parent / "keys.toml").write_text('[users]\nops = "other"\n')
    assert read(file).digest != found.digest


def test_without_a_file_of_keys_there_are_none(tmp_path):
    (tmp_path / "a").write_text('mode = "audit"')
    assert read(tmp_path / "a").policy.keys == {}


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o620, 0o602])
def test_keys_that_others_may_use_are_refused(file, mode):
    keys = file.parent / "keys.toml"
    keys.chmod(mode)
    with pytest.raises(ConfigError) as caught:
        read(file)
    assert (
        str(caught.value) == f"{keys} holds secrets, and others may use it (mode {mode:o}): chmod 600 {keys}"
    )


def missing(file):
    file.unlink()


def folder(file):
    file.unlink()
    file.mkdir()


def pipe(file):
    file.unlink()
    os.mkfifo(file)


def not_text(file):
    file.write_bytes(b'mode = "\xff"')


def empty(file):
    file.write_bytes(b"")


def too_large(file):
    file.write_bytes(b"#" * (FILE_LIMIT + 1))


def without_keys(file):
    (file.parent / "keys.toml").unlink()


BROKEN = {
    missing: "access.toml can't be read: No such file or directory",
    folder: "access.toml can't be read: Is a directory",
    pipe: "access.toml is not a regular file",
    not_text: "access.toml is not UTF-8: see byte 8, in line 1; save the file as UTF-8",
    empty: "access.toml: mode is missing",
    too_large: "access.toml is too large",
    without_keys: "keys.toml can't be read: No such file or directory",
}


@pytest.mark.parametrize("breaking", BROKEN, ids=lambda breaking: breaking.__name__)
def test_files_that_cant_be_used_are_named(file, breaking):
    breaking(file)
    with pytest.raises(ConfigError) as caught:
        read(file)
    assert BROKEN[breaking] in str(caught.value)


def test_a_file_that_this_user_may_not_read_is_named(file, monkeypatch):
    """Tests may run as a user who may read everything, so the system's refusal is played."""

    def refuse(path, *_):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ConfigError, match=r"access\.toml can't be read: Permission denied for uid \d+"):
        read(file)


@pytest.mark.parametrize("breaking", BROKEN, ids=lambda breaking: breaking.__name__)
async def test_what_breaks_while_the_server_runs_changes_nothing_and_is_said_once(
    file, breaking, caplog, monkeypatch
):
    checks = []

    def counted():
        checks.append(None)
        return reading()

    files = await asyncio.to_thread(AccessFiles, str(file), {"KEY": "k"}, poll_seconds=0.001)
    before, taken = files.policy, []
    watching = asyncio.create_task(files.watch(taken.append))
    await asyncio.to_thread(breaking, file)
    await eventually(lambda: BROKEN[breaking] in files.trouble)
    reading = files._reader.read
    monkeypatch.setattr(files._reader, "read", counted)
    await eventually(lambda: len(checks) >= 5)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert BROKEN[breaking] in files.trouble
    assert (files.policy, taken) == (before, [])
    assert caplog.text.count(BROKEN[breaking]) == 1


def test_a_file_that_is_replaced_while_it_is_read_is_read_as_one_of_the_two(file, monkeypatch):
    files = AccessFiles(str(file), {"KEY": "k"})
    taken = []
    newer = file.with_name("newer.toml")
    newer.write_text(RULES.format(mode="enforce"))
    opened = os.open

    def replaced_when_open(path, *rest):
        descriptor = opened(path, *rest)
        if Path(path) == file and newer.exists():
            newer.replace(file)
        return descriptor

    monkeypatch.setattr(os, "open", replaced_when_open)
    files._take(read(file), taken.append)  # the old file, which is not there any more
    assert (taken, files.policy.rules.mode.value) == ([], "audit")
    for _ in range(2):
        files._take(read(file), taken.append)
    assert [policy.rules.mode.value for policy in taken] == ["enforce"]


def test_a_content_is_parsed_once_however_often_it_is_read(file, monkeypatch):
    """Files of megabytes take seconds, and the server reads them twice a second."""
    parsed = []

    def counted(parse, text, **more):
        parsed.append(parse)
        return parse(text, **more)

    for name in ("parse_access_file", "parse_keys_file"):
        monkeypatch.setattr(access_files, name, partial(counted, getattr(access_files, name)))
    reader = AccessFiles(str(file), {"KEY": "k"})._reader
    assert {reader.read().digest for _ in range(3)} == {read(file).digest}
    assert len(parsed) == 2 + 2
    file.write_text("broken")
    for _ in range(3):
        with pytest.raises(ConfigError, match="is not TOML"):
            reader.read()
    assert len(parsed) == 5


def test_a_server_does_not_start_with_rules_that_cant_be_used(tmp_path):
    with pytest.raises(ConfigError):
        AccessFiles(str(tmp_path / "none"), {})


def test_a_change_is_taken_over_when_it_was_read_the_same_twice(file):
    files = AccessFiles(str(file), {"KEY": "k"})
    taken = []
    file.write_text(RULES.format(mode="enforce"))
    files._take(read(file), taken.append)
    assert taken == []
    files._take(read(file), taken.append)
    files._take(read(file), taken.append)
    assert [policy.rules.mode.value for policy in taken] == ["enforce"]
    assert files.policy is taken[0]


def test_what_changes_while_it_is_written_is_not_taken_over(file):
    files = AccessFiles(str(file), {"KEY": "k"})
    taken = []
    whole = RULES.format(mode="enforce")
    for part in (whole.partition("[[rule]]")[0], whole):
        file.write_text(part)
        files._take(read(file), taken.append)
    assert taken == []


def put(file: Path, text: str) -> None:
    """Give a file its content at once: whoever looks while it is written sees an empty file, which is another problem."""
    new = file.with_suffix(".new")
    new.write_text(text)
    new.replace(file)


async def test_files_are_watched_and_a_broken_one_changes_nothing(file, caplog):
    files = await asyncio.to_thread(AccessFiles, str(file), {"KEY": "k"}, poll_seconds=0.001)
    taken = []
    watching = asyncio.create_task(files.watch(taken.append))
    await asyncio.to_thread(put, file, "mode =")
    await eventually(lambda: "is not TOML" in files.trouble)
    assert taken == []
    await asyncio.to_thread(put, file, RULES.format(mode="enforce"))
    await eventually(lambda: taken)
    assert files.trouble == ""
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert [policy.rules.mode.value for policy in taken] == ["enforce"]
    (problem,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert problem.startswith("the access rules stay as they were: ")
