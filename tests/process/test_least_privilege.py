"""Commands that only look need no more than to read: over folders of somebody else that cannot be written to, every
call that would change a file is seen and fails the test, also one whose failure the command would pass over."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from namekeeper.pipeline.gold.steps import make_gold
from tests.process.running import BIN
from tests.process.test_bare_host import run, why_not
from tests.support.pipeline.duck import Duck
from tests.unit.answers.story import Story

OWNER = 4000
HOOK = r"""
import os, sys

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CALLS = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.chown", "os.link", "os.symlink",
         "os.truncate", "os.utime", "os.setxattr", "fcntl.flock", "fcntl.lockf"}
WITH_FOLDER = {"os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.symlink"}
ELSEWHERE = ("/dev/", "/proc/", "/tmp", "pipe:", "socket:")  # Spark has files of its own in /tmp

def place(given, folder):
    if isinstance(given, int):
        return os.readlink(f"/proc/self/fd/{given}")
    inside = os.readlink(f"/proc/self/fd/{folder}") if isinstance(folder, int) and folder >= 0 else os.getcwd()
    return os.path.join(inside, os.fsdecode(given or ""))

def look(event, args):
    if event != "open" and event not in CALLS:
        return
    path = place(args[1] if event in {"os.rename", "os.link", "os.symlink"} else args[0],
                 args[-1] if event in WITH_FOLDER else -1)
    changes = event != "open" or isinstance(args[2], int) and args[2] & WRITES
    if changes and not path.startswith(ELSEWHERE):
        os.write(2, f"\nchanges: {event} {path}\n".encode())
    elif path.startswith("/mnt/data/"):
        os.write(2, f"\nreads: {path}\n".encode())

sys.addaudithook(look)
"""
JOURNAL, WAREHOUSE = ("--journal", "/mnt/data/journal/ns_9876"), ("--warehouse", "/mnt/data/warehouse")
FROM = ("--from", "2023-11-14T00:00:00Z")
COMMANDS = [
    ("why", "T", "--at", "2023-11-14T22:13:50Z", *JOURNAL),
    ("why", "T", "--at", "2023-11-14T22:13:50Z", "--journal", "/mnt/data/journal"),
    ("history", "T", *FROM, *JOURNAL),
    ("route-at", "T", "--at", "2023-11-14T22:13:50Z", *JOURNAL),
    ("audit", *FROM, *JOURNAL),
    ("journal", "ls", JOURNAL[1]),
    ("journal", "cat", JOURNAL[1]),
    ("journal", "tail", JOURNAL[1]),
    ("journal", "verify", JOURNAL[1]),
    ("journal", "replay", JOURNAL[1]),
    ("report", "all", *WAREHOUSE),
    ("pipeline", "doctor", "--quick", *JOURNAL),
    ("access", "check", "/mnt/data/access.toml"),
    ("serve", "-c", "/mnt/data/namesrv.properties", "-p"),
]
"""What each is asked of folders that it may read."""

RUN = ("pipeline", "run", *JOURNAL, "--warehouse", "/tmp/warehouse")
"""Spark needs a minute for it."""

SPARKS_OWN = {"changes: os.rmdir /spark-warehouse"}
"""A folder that Spark may have left where it was started."""


@pytest.fixture(scope="module", autouse=True)
def _possible():
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal, a warehouse and files of settings, which belong to somebody else and are for all to read."""
    made = tmp_path_factory.mktemp("least")
    made.chmod(0o755)
    data = made / "data"
    (data / "journal").mkdir(parents=True)
    story = Story("ns_9876")
    story.registers("b0", "10.0.0.1:10911", ("T",))
    story.wiped()
    story.refused()
    story.later()
    story.restarts()
    story.folder(data / "journal" / "ns_9876")
    duck = Duck()
    make_gold(duck, duck.load([json.loads(line) for line in story.journal.lines()]))
    duck.write_warehouse(data / "warehouse")
    (data / "access.toml").write_text(
        'mode = "audit"\n[[rule]]\nname = "all"\neffect = "allow"\nrequests = ["read"]\n'
    )
    (data / "namesrv.properties").write_text(
        "listenPort=9876\nkvConfigPath=/mnt/data/kv.json\nlogRoot=/mnt/data/log\n"
    )
    (data / "hook").mkdir()
    (data / "hook" / "sitecustomize.py").write_text(HOOK)
    for path in [data, *data.rglob("*")]:
        os.chown(path, OWNER, OWNER)
        path.chmod(0o555 if path.is_dir() else 0o444)
    return made


def looked(folder: Path, *words: object) -> tuple[subprocess.CompletedProcess[str], list[str], list[str]]:
    """Run something there; how it ended, what it read and what it tried to change."""
    done = run(folder, "env", "PYTHONPATH=/mnt/data/hook", "PYTHONDONTWRITEBYTECODE=1", *words)
    lines = done.stderr.splitlines()
    return done, *([line for line in lines if line.startswith(word)] for word in ("reads: ", "changes: "))


def test_a_change_would_be_seen_and_fails(folder: Path):
    for change in ("mkdir -p /mnt/data/journal/more", "touch /mnt/data/namesrv.properties"):
        assert "Permission denied" in run(folder, "sh", "-c", change).stderr
    script = """
import contextlib, os
with contextlib.suppress(PermissionError):
    os.mkdir("/mnt/data/more")
with contextlib.suppress(PermissionError):
    open("/mnt/data/access.toml", "a")
"""
    _, _, changes = looked(folder, BIN / "python", "-c", script)
    assert changes == ["changes: os.mkdir /mnt/data/more", "changes: open /mnt/data/access.toml"]


@pytest.mark.parametrize("words", [*COMMANDS, pytest.param(RUN, marks=pytest.mark.long)], ids=" ".join)
def test_a_command_that_looks_changes_nothing(folder: Path, words: tuple[str, ...]):
    done, reads, changes = looked(folder, BIN / "namekeeper", *words)
    assert done.returncode in {0, 1}, done.stderr
    assert done.stdout or done.stderr
    assert reads or words[0] == "pipeline"  # Java reads for a run, and the doctor lists only
    assert set(changes) <= SPARKS_OWN
    assert "ermission denied" not in done.stdout + done.stderr
