"""`namekeeper pipeline run --watch` on an object store: away for a while, and ended by SIGTERM."""

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from namekeeper.pipeline.files.folder import open_folder
from tests.support.pipeline.object_store import S3, store_environment
from tests.support.system.waiting import PATIENCE

pytestmark = pytest.mark.waits

SLOW = b"<Error><Code>SlowDown</Code></Error>"


@pytest.fixture(scope="module")
def server() -> Iterator[S3]:
    with store_environment() as store:
        yield store


@pytest.fixture
def s3(server: S3) -> Iterator[S3]:
    yield server
    server.fault = lambda _: None


@pytest.fixture
def watching(s3: S3, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run whose journal has no sealed segment yet, so that it needs no Spark."""
    (tmp_path / "journal").mkdir()
    words = [
        "--journal",
        str(tmp_path / "journal"),
        "--warehouse",
        s3.uri(f"{tmp_path.name}/w"),
        "--watch",
        "1s",
    ]
    command = [sys.executable, "-m", "namekeeper", "pipeline", "run", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line_with(lines: IO[str] | None, text: str) -> str:
    """The next line with a text."""
    assert lines is not None
    seen = []
    for line in lines:
        seen.append(line)
        if text in line:
            return line
    raise AssertionError(f"it has ended without {text!r}: {seen}")


def test_it_goes_on_when_the_store_is_back(s3, watching):
    line_with(watching.stderr, "nothing new")
    s3.fault = lambda _: ("503 Slow Down", SLOW)
    line = line_with(watching.stderr, "trying again in 1 s")
    assert re.match(r"s3://.*/w can't be read: .*SLOW_DOWN", line), line
    s3.fault = lambda _: None
    line_with(watching.stderr, "nothing new")
    watching.send_signal(signal.SIGTERM)
    assert line_with(watching.stderr, "stopped") == "stopped; the warehouse is as the last commit left it\n"
    assert watching.wait(10 * PATIENCE) == 143


def test_sigterm_gives_up_the_lease(s3, watching, tmp_path):
    """It comes while the run, which holds the lease, waits for the store."""
    is_held, may_go = threading.Event(), threading.Event()

    def waits(environ):
        if environ["PATH_INFO"].endswith("/w/manifests/000000000000.json") and not is_held.is_set():
            is_held.set()
            may_go.wait(10 * PATIENCE)

    line_with(watching.stderr, "nothing new")
    s3.fault = waits
    assert is_held.wait(10 * PATIENCE)
    folder = open_folder(s3.uri(f"{tmp_path.name}/w"))
    watching.send_signal(signal.SIGTERM)
    may_go.set()
    assert watching.wait(10 * PATIENCE) == 143
    assert json.loads(folder.read("lock"))["token"] == ""
