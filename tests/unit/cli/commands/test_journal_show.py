"""What is in a journal is shown as it is, in order, while it is written too."""

import json

import pytest

from namekeeper.cli.commands import journal_show
from tests.unit.cli.commands.journal_folder import make, run, write_on


def seqs(output: str) -> list[int]:
    return [json.loads(line)["seq"] for line in output.splitlines()]


def test_ls_lists_segments_with_their_boot_and_records(tmp_path):
    make(tmp_path)
    result = run("ls", str(tmp_path))
    assert result.exit_code == 0
    head, first, second = result.stdout.splitlines()
    assert head.split()[:2] == ["#boot", "(UTC)"]
    assert first.startswith("2023-11-14 22:13:20.000 ")
    assert first.split()[2:4] == ["1", "7"]
    assert second.split()[2:4] == ["1", "open"]
    assert second.endswith(".jsonl.open")


def test_ls_as_json(tmp_path):
    make(tmp_path)
    first, second = json.loads(run("ls", str(tmp_path), "--json").stdout)
    assert (first["namesrv"], first["firstSeq"], first["lastSeq"]) == ("ns_9876", 1, 7)
    assert second["lastSeq"] is None
    assert second["bytes"] == (tmp_path / second["file"]).stat().st_size


def test_cat_prints_every_record_as_it_is(tmp_path):
    make(tmp_path)
    result = run("cat", str(tmp_path))
    assert (result.exit_code, seqs(result.stdout)) == (0, [*range(1, 8), *range(1, 6)])


def test_cat_picks_by_boot_and_kind(tmp_path):
    make(tmp_path)
    boot = str(json.loads(run("ls", str(tmp_path), "--json").stdout)[1]["boot"])
    assert seqs(run("cat", str(tmp_path), "--boot", boot).stdout) == [1, 2, 3, 4, 5]
    assert seqs(run("cat", str(tmp_path), "--kind", "server_stopped").stdout) == [7]


def test_cat_tells_lines_that_are_no_records(tmp_path):
    make(tmp_path)
    (path,) = tmp_path.glob("*.open")
    path.write_bytes(path.read_bytes() + b"\0\0\0\ntorn")
    result = run("cat", str(tmp_path))
    assert result.exit_code == 1
    assert len(seqs(result.stdout)) == 12
    assert f"{path.name}, line 6: 3 NUL bytes" in result.stderr
    assert "line 7: torn: no line feed ends it" in result.stderr


@pytest.mark.parametrize(
    ("words", "expected"), [((), 10), (("-n", "3"), 3), (("-n", "0"), 0), (("-n", "99"), 12)]
)
def test_tail_prints_the_last_ones(tmp_path, words, expected):
    make(tmp_path)
    assert seqs(run("tail", str(tmp_path), *words).stdout) == [*range(1, 8), *range(1, 6)][12 - expected :]


@pytest.mark.parametrize("lines", ["1", "0"])
def test_tail_follows_what_is_written(tmp_path, monkeypatch, lines):
    feeder, writer = make(tmp_path)
    looks = []

    def look(_seconds):
        looks.append(1)
        if len(looks) > 2:
            raise KeyboardInterrupt
        write_on(feeder, writer)
        if len(looks) == 2:
            writer.close(feeder.now)

    monkeypatch.setattr(journal_show.time, "sleep", look)
    result = run("tail", str(tmp_path), "-f", "-n", lines)
    assert seqs("\n".join(line for line in result.stdout.splitlines() if line.startswith("{"))) == [
        *([5] if lines == "1" else []), 6, 7,
    ]  # fmt: skip


@pytest.mark.parametrize("command", ["ls", "cat", "tail"])
def test_what_is_no_journal_is_refused_with_what_to_do(tmp_path, command):
    result = run(command, str(tmp_path))
    assert result.exit_code == 2
    assert "is not a journal: it holds no segments" in result.stderr
