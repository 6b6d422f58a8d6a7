"""Is anything lost: in words, in JSON and as a status; and sealing, with and without a server."""

import json
import threading

from namekeeper.journal.disk.folder import SEAL_REQUEST
from namekeeper.journal.disk.lock import take_lock
from namekeeper.journal.reading.reader import find_segments
from tests.support.journal.checksums import with_new_checksums
from tests.unit.cli.commands.journal_folder import make, run


def test_a_whole_journal_ends_with_0(tmp_path):
    make(tmp_path)
    release = take_lock(str(tmp_path))
    result = run("verify", str(tmp_path))
    release()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("ns_9876 (")
    assert lines[0].endswith("): 2 segments, 2 boots")
    assert lines[1].endswith("(2023-11-14 22:13:20+00:00): seq 1 to 7, 7 records, 1 complete checkpoint")
    assert lines[-1] == "nothing is lost"


def test_a_journal_whose_server_died_may_have_lost_its_end(tmp_path):
    make(tmp_path)
    result = run("verify", str(tmp_path))
    assert result.exit_code == 1
    assert "it did not stop in an orderly way: records after seq 5 may be lost" in result.stdout
    assert result.stdout.splitlines()[-1] == "not complete: records may be lost"


def test_what_is_lost_or_broken_is_reported_with_its_position(tmp_path):
    make(tmp_path)
    (path,) = tmp_path.glob("*.open")
    lines = path.read_bytes().split(b"\n")
    del lines[1:3]
    path.write_bytes(b"\n".join([*lines[:-1], b"garbage", b""]))
    (tmp_path / "quarantine").mkdir()
    (tmp_path / "quarantine" / "some.torn").touch()
    result = run("verify", str(tmp_path))
    assert result.exit_code == 1
    assert "lost: seq 2 to 3" in result.stdout
    assert f"{path.name}, line 4: no record" in result.stdout
    assert "put aside after a crash: quarantine/some.torn" in result.stdout
    assert result.stdout.splitlines()[-1] == "not complete: 2 records are lost"


def test_newer_records_and_many_problems_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("namekeeper.journal.reading.verify_report.MAX_PROBLEMS", 1)
    make(tmp_path)
    (path,) = tmp_path.glob("*.open")
    path.write_bytes(with_new_checksums(path.read_bytes().replace(b'"v":1', b'"v":7')) + b"x\n\0\n" * 5)
    result = run("verify", str(tmp_path))
    assert "5 records of a newer version: use a newer namekeeper" in result.stdout
    assert "more lines with problems" in result.stdout


def test_as_json(tmp_path):
    make(tmp_path)
    value = json.loads(run("verify", str(tmp_path), "--json").stdout)
    assert [boot["last_seq"] for boot in value["boots"]] == [7, 5]
    assert value["problems"] == []


def test_what_is_no_journal_ends_with_2(tmp_path):
    for command in ("verify", "seal"):
        result = run(command, str(tmp_path / "none"))
        assert result.exit_code == 2
        assert "can't read" in result.stderr


def test_without_a_server_the_leftovers_are_sealed(tmp_path):
    _, writer = make(tmp_path)
    result = run("seal", str(tmp_path))
    assert result.exit_code == 0
    (name,) = result.stdout.split()
    assert name.endswith("-000000000001-000000000005.jsonl.gz")
    assert not any(name.is_open for name in find_segments(str(tmp_path)))
    assert writer.opened is not None


def test_a_server_is_asked_and_awaited(tmp_path):
    feeder, writer = make(tmp_path)
    release = take_lock(str(tmp_path))
    is_done = threading.Event()

    def serve():
        while not is_done.wait(0.01):
            writer.step(feeder.advance(1_000))

    server = threading.Thread(target=serve)
    server.start()
    result = run("seal", str(tmp_path))
    is_done.set()
    server.join()
    release()
    assert (result.exit_code, result.stdout.count(".jsonl.gz")) == (0, 1)
    assert not (tmp_path / SEAL_REQUEST).exists()


def test_a_server_that_does_not_seal_is_not_awaited_for_ever(tmp_path):
    make(tmp_path)
    release = take_lock(str(tmp_path))
    result = run("seal", str(tmp_path), "--timeout", "0.05")
    release()
    assert result.exit_code == 2
    assert "did not seal within 0.05 s: see its log" in result.stderr


def test_a_shipped_copy_has_nothing_to_seal(tmp_path):
    make(tmp_path)
    (tmp_path / "identity.json").unlink()
    result = run("seal", str(tmp_path))
    assert result.exit_code == 2
    assert "has no identity.json: it holds shipped segments" in result.stderr


def test_a_folder_that_can_not_be_written_says_so(tmp_path, monkeypatch):
    make(tmp_path)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("namekeeper.cli.commands.journal_keep.take_lock", refuse)
    result = run("seal", str(tmp_path))
    assert result.exit_code == 2
    assert "can't be written: Permission denied" in result.stderr
