"""A log file is followed to its end, however it is rotated or truncated; what was there before counts not."""

import asyncio
import gzip
import os
import shutil
from contextlib import asynccontextmanager, closing

import pytest

from namekeeper.clock import SystemClock
from namekeeper.observe.log_file import BEHIND_BYTES, CONTEXT_BYTES, FollowedLog, ServerLog
from namekeeper.observe.log_parser import LogEntry, LogKind
from namekeeper.route.events import Cause, Change
from tests.support.system.waiting import eventually
from tests.unit.observe.test_causes import left

LINE = "2026-11-30 16:12:58 INFO NettyEventExecutor - the broker's channel destroyed, {}, clean it's data structure at once\n"
ADDR = "10.0.0.1:10911"


def appended(log):
    return b"".join(piece.data for piece in log.read() if not piece.is_context)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "namesrv.log"
    path.write_bytes(b"before\n")
    return path


@pytest.fixture
def log(path):
    log = FollowedLog(str(path))
    assert appended(log) == b""
    yield log
    log.close()


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def test_what_is_appended_is_read_once(log, path):
    append(path, b"one\ntw")
    assert appended(log) == b"one\ntw"
    assert appended(log) == b""
    append(path, b"o\n")
    assert appended(log) == b"o\n"


def test_what_was_there_is_context(path):
    path.write_bytes(b"a" * 2 * CONTEXT_BYTES)
    with closing(FollowedLog(str(path))) as log:
        pieces = [piece for piece in log.read() if piece.data]
    assert sum(len(piece.data) for piece in pieces) == CONTEXT_BYTES
    assert all(piece.is_context for piece in pieces)


def test_a_file_that_is_renamed_compressed_and_deleted_is_read_to_its_end(log, path):
    append(path, b"last\n")
    old = path.rename(path.with_suffix(".1"))
    append(old, b"after the rename\n")
    assert appended(log) == b"last\nafter the rename\n"
    append(old, b"torn ")
    with old.open("rb") as file, gzip.open(f"{old}.gz", "wb") as packed:
        shutil.copyfileobj(file, packed)
    old.unlink()
    path.write_bytes(b"first\n")
    pieces = list(log.read())
    assert [(piece.data, piece.is_new_place) for piece in pieces] == [
        (b"torn ", False),
        (b"", True),
        (b"first\n", False),
    ]
    assert log.trouble == ""


def test_a_file_that_is_truncated_is_read_from_its_start(log, path):
    append(path, b"a long line\n")
    assert appended(log) == b"a long line\n"
    os.truncate(path, 0)
    append(path, b"new\n")
    pieces = list(log.read())
    assert [(piece.data, piece.is_new_place) for piece in pieces] == [(b"", True), (b"new\n", False)]


def test_of_a_file_that_grows_too_fast_the_end_is_read(log, path):
    with path.open("r+b") as file:
        file.truncate(3 * BEHIND_BYTES)
    assert len(appended(log)) == BEHIND_BYTES
    assert log.skipped_bytes == 2 * BEHIND_BYTES - len(b"before\n")


def test_a_file_that_is_not_there_or_no_file_is_a_visible_trouble(tmp_path):
    path = tmp_path / "namesrv.log"
    with closing(FollowedLog(str(path))) as log:
        assert appended(log) == b""
        assert log.trouble.startswith(f"{path}: ")
        path.write_bytes(b"nobody knows when\n")
        assert appended(log) == b""
        assert log.trouble == ""
        append(path, b"now\n")
        assert appended(log) == b"now\n"
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path, tmp_path / "pipe"):
        log = FollowedLog(str(other))
        assert appended(log) == b""
        assert "it is no file" in log.trouble


@asynccontextmanager
async def follow(path):
    server_log = ServerLog(str(path), SystemClock())
    following = asyncio.create_task(server_log.follow())
    try:
        yield server_log
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def explained(server_log):
    change = Change(Cause.OBSERVED, None, left(addr=ADDR), window_ms=1_000)
    (found,) = await server_log.explained([change], SystemClock().now().mono_ms)
    return found.cause


async def test_a_change_waits_for_the_line_that_comes_a_moment_later(path):
    async with follow(path) as server_log:
        assert await explained(server_log) is Cause.OBSERVED
        waiting = asyncio.create_task(explained(server_log))
        await asyncio.sleep(0)
        append(path, LINE.format(ADDR).encode())
        assert await waiting is Cause.CHANNEL_CLOSED
        assert server_log.status().entries == 1


async def test_a_change_whose_line_was_read_waits_for_nothing(path):
    server_log = ServerLog(str(path), SystemClock())
    now = SystemClock().now().mono_ms
    server_log._changes.add([LogEntry(LogKind.CLOSED, (ADDR,))], now, now)
    assert await explained(server_log) is Cause.CHANNEL_CLOSED  # nobody reads the file


async def test_lines_that_were_there_before_explain_nothing(path):
    append(path, LINE.format(ADDR).encode())
    async with follow(path) as server_log:
        assert await explained(server_log) is Cause.OBSERVED


async def test_a_log_that_cannot_be_read_holds_nothing_up(tmp_path):
    async with follow(tmp_path / "none") as server_log:
        await eventually(lambda: server_log.status().trouble)
        assert await explained(server_log) is Cause.OBSERVED
