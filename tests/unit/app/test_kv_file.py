"""The KV file has one owner, and leftovers of killed processes go."""

import logging
import os
import subprocess
import sys

import pytest

from namekeeper.app.kv_file import KvFile
from namekeeper.common.on_console import is_on_console
from namekeeper.errors import ConfigError
from namekeeper.kvconfig.store import KvConfigStore
from tests.process.running import NameServerProcess
from tests.support.system.other_user import give_away

NO_PROCESS = 4_194_304
"""One above the highest number that Linux gives."""
OWN = """
import sys
from namekeeper.app.kv_file import KvFile
file = KvFile(sys.argv[1])
print(file.refusal, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owner(tmp_path):
    command = [sys.executable, "-c", OWN, str(tmp_path / "kv.json")]
    process = subprocess.Popen(command, stdin=-1, stdout=-1, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "None\n"
    yield process
    process.kill()
    process.communicate()


def test_a_file_that_is_not_there_is_an_empty_table(tmp_path):
    file = KvFile(str(tmp_path / "folder" / "kv.json"))
    assert file.load().to_text() == KvConfigStore().to_text()
    assert file.refusal is None
    file.release()
    file.release()


def test_a_second_owner_is_refused_and_told_whom_to_ask(tmp_path, owner, caplog):
    with caplog.at_level(logging.WARNING):
        second = KvFile(str(tmp_path / "kv.json"))
    assert second.refusal is not None
    assert f"process number {owner.pid}: send changes there, or start this one with another" in second.refusal
    assert second.refusal in caplog.text


def test_the_file_is_free_when_its_owner_was_killed(tmp_path, owner):
    owner.kill()
    owner.wait()
    file = KvFile(str(tmp_path / "kv.json"))
    assert file.refusal is None
    file.release()


def test_two_names_of_one_file_have_one_owner(tmp_path, owner):
    (tmp_path / "kv.json").touch()
    (tmp_path / "other.json").symlink_to(tmp_path / "kv.json")
    assert KvFile(str(tmp_path / "other.json")).refusal is not None


def test_a_lock_that_is_a_link_is_not_followed(tmp_path, caplog):
    precious = tmp_path / "precious"
    precious.write_text("content")
    (tmp_path / "kv.json.lock").symlink_to(precious)
    file = KvFile(str(tmp_path / "kv.json"))
    assert precious.read_text() == "content"
    assert file.refusal is None
    (record,) = (each for each in caplog.records if "nothing keeps another name server" in each.message)
    assert is_on_console(record)  # the next thing that fails is a change of the KV configuration


def test_leftovers_go_at_the_start(tmp_path, owner):
    owner.kill()
    owner.wait()
    (tmp_path / f"kv.json.{NO_PROCESS}.tmp").touch()
    file = KvFile(str(tmp_path / "kv.json"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kv.json.lock"]
    file.release()


def test_a_second_owner_removes_nothing(tmp_path, owner):
    (tmp_path / f"kv.json.{NO_PROCESS}.tmp").touch()
    KvFile(str(tmp_path / "kv.json"))
    assert (tmp_path / f"kv.json.{NO_PROCESS}.tmp").exists()


def test_a_file_that_can_not_be_read_is_one_line_that_says_what_to_do(tmp_path):
    (tmp_path / "kv.json").write_text("{")
    file = KvFile(str(tmp_path / "kv.json"))
    with pytest.raises(ConfigError, match="repair the file, or move it away to start empty"):
        file.load()
    file.release()


def test_a_file_is_taken_over_when_its_owner_has_ended(tmp_path, owner):
    file = KvFile(str(tmp_path / "kv.json"))
    assert file.take_over() is None
    owner.kill()
    owner.wait()
    (tmp_path / "kv.json").write_text('{"configTable":{"N":{"K":"written since"}}}')
    found = file.take_over()
    assert found is not None
    assert found.get("N", "K") == "written since"
    assert file.refusal is None
    assert KvFile(str(tmp_path / "kv.json")).refusal is not None
    file.release()


def test_a_file_that_can_not_be_read_is_not_taken_over(tmp_path, owner):
    file = KvFile(str(tmp_path / "kv.json"))
    owner.kill()
    owner.wait()
    (tmp_path / "kv.json").write_text("{")
    with pytest.raises(ConfigError, match="repair the file"):
        file.take_over()
    assert file.refusal is not None
    assert KvFile(str(tmp_path / "kv.json")).refusal is None


def test_of_two_servers_with_one_file_the_second_answers_and_refuses_changes(tmp_path):
    shared = str(tmp_path / "shared.json")
    put = {"namespace": "N", "key": "K", "value": "first"}
    with NameServerProcess(tmp_path / "a", kv_config_path=shared, journal_enable="false") as first:
        first.started()
        assert first.ask(100, **put).code == 0
        with NameServerProcess(tmp_path / "b", kv_config_path=shared, journal_enable="false") as second:
            second.started()
            assert second.ask(101, namespace="N", key="K").fields == {"value": "first"}
            for code in (100, 102):
                refused = second.ask(code, **{**put, "value": "second"})
                assert (refused.code, f"process number {first.pid}:" in str(refused.remark)) == (1, True)
            assert second.stop() == 0
        assert first.stop() == 0
    assert '"first"' in (tmp_path / "shared.json").read_text()


WHOLE = '{"configTable":{"N":{"K":"V"}}}'


@pytest.mark.parametrize(
    "content",
    ["", "\0" * 8, '{"configTable":{"N', WHOLE + '"}}}', None],
    ids=["empty", "NULs", "cut", "longer", "none"],
)
def test_after_a_loss_of_power_the_backup_is_served_and_said(tmp_path, caplog, content):
    path, backup = tmp_path / "kv.json", tmp_path / "kv.json.bak"
    backup.write_text(WHOLE)
    if content is not None:
        path.write_text(content)
    file = KvFile(str(path))
    assert file.load().get("N", "K") == "V"
    assert f"the entries are those of {path}.bak" in caplog.text
    assert backup.read_text() == WHOLE
    if content is not None:
        assert (tmp_path / "kv.json.corrupt").read_text() == content
    file.release()


def test_a_file_of_another_owner_is_not_set_aside(tmp_path, owner):
    (tmp_path / "kv.json").write_text("{")
    (tmp_path / "kv.json.bak").write_text(WHOLE)
    assert KvFile(str(tmp_path / "kv.json")).load().get("N", "K") == "V"
    assert (tmp_path / "kv.json").read_text() == "{"


def test_an_empty_file_is_said_and_serves_nothing(tmp_path, caplog):
    (tmp_path / "kv.json").touch()
    file = KvFile(str(tmp_path / "kv.json"))
    assert file.load().to_text() == KvConfigStore().to_text()
    assert f"the KV file {tmp_path}/kv.json is empty" in caplog.text
    file.release()


def test_where_no_backup_helps_it_is_named(tmp_path):
    (tmp_path / "kv.json").write_text("{")
    (tmp_path / "kv.json.bak").write_text("{")
    file = KvFile(str(tmp_path / "kv.json"))
    with pytest.raises(ConfigError, match=r"kv\.json: .*; .*kv\.json\.bak: .*; repair the file"):
        file.load()
    file.release()


def test_a_file_that_is_nested_too_deeply_is_one_error(tmp_path):
    (tmp_path / "kv.json").write_text('{"a":' * 100_000)
    file = KvFile(str(tmp_path / "kv.json"))
    with pytest.raises(ConfigError, match=r"kv\.json: .* recursion.*; repair the file"):
        file.load()
    file.release()


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/full")])
def test_what_is_no_file_is_refused_and_nothing_is_put_beside_it(tmp_path, put):
    put(tmp_path / "kv.json")
    with pytest.raises(
        ConfigError, match=r"can't read the KV file .*kv\.json: (it is not a regular file|Is a directory)"
    ):
        KvFile(str(tmp_path / "kv.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["kv.json"]


def test_a_link_that_another_user_put_there_is_refused_at_the_start(tmp_path, monkeypatch):
    (tmp_path / "precious").write_text("{}")
    (tmp_path / "kv.json").symlink_to("precious")
    give_away(tmp_path / "kv.json", monkeypatch)
    with pytest.raises(
        ConfigError,
        match=r"^can't read the KV file .*: .*/kv\.json is a link of uid 12345, not of \d+ or root:",
    ):
        KvFile(str(tmp_path / "kv.json"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kv.json", "precious"]


def test_a_namespace_without_entries_is_there_after_a_restart(tmp_path):
    """A store without entries is false, and was taken for no store."""
    path = tmp_path / "kv.json"
    path.write_text('{"configTable":{"ORDER_TOPIC_CONFIG":{}}}')

    assert KvFile(str(path)).load().to_text() == path.read_bytes()


@pytest.mark.parametrize(
    ("content", "remarks"),
    [
        (b'{"configTable":{"ns":{"k":"v"}}}', []),
        (b"{'configTable':{'ns':{'k':'v'}}}", ['line 1: it has single quotes: write "straight double" ones']),
        (
            b'\xef\xbb\xbf{"configTable":{"ns":{"k":"v"}}}',
            ["line 1: it begins with a byte order mark: save it as UTF-8 without one"],
        ),
    ],
)
def test_what_other_readers_refuse_is_one_line(tmp_path, caplog, content, remarks):
    path = tmp_path / "kvConfig.json"
    path.write_bytes(content)
    assert KvFile(str(path)).load().get("ns", "k") == "v"
    assert [record.getMessage() for record in caplog.records] == [
        f"the KV file {path} is read as RocketMQ reads it; {remark}" for remark in remarks
    ]
    assert all(map(is_on_console, caplog.records))
