"""The log looks like Java's, and the loop never waits for it."""

import io
import logging
import re
import threading
from pathlib import Path

import pytest

from namekeeper.app import logs as module
from namekeeper.app.log_lines import log_change
from namekeeper.app.logs import Logs, format_line, start_logs
from namekeeper.common.on_console import ON_CONSOLE
from namekeeper.route.events import Cause, Change, KvChanged
from tests.support.system.processes import eventually
from tests.support.system.waiting import PATIENCE

MAIN, TRAFFIC, OTHER = (
    logging.getLogger("namekeeper.namesrv"), logging.getLogger("namekeeper.traffic"), logging.getLogger("aiohttp.access"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to start the thread than a stop waits."""
    monkeypatch.setattr(module, "_STOP_SECONDS", module._STOP_SECONDS * PATIENCE)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "rocketmqlogs"


def lines(root: Path, name: str = "namesrv") -> list[str]:
    return (root / f"{name}.log").read_text().splitlines()


def messages(root: Path, name: str = "namesrv") -> list[str]:
    return [line.partition(" - ")[2] for line in lines(root, name)]


def test_a_line_is_formed_as_javas():
    assert format_line(0, logging.WARNING, "main", "text") == b"1970-01-01 08:00:00 WARN main - text\n"
    assert b" ERROR " in format_line(0, logging.CRITICAL, "main", "text")


def test_records_go_to_javas_files(root):
    logs = start_logs(str(root))
    MAIN.info("to %s", "main")
    TRAFFIC.info("to traffic")
    OTHER.warning("to default")
    MAIN.debug("not at this level")
    logs.stop()
    assert messages(root) == ["to main"]
    assert messages(root, "namesrv_traffic") == ["to traffic"]
    assert messages(root, "namesrv_default") == ["to default"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO main - to main", lines(root)[0])


def test_a_change_becomes_its_lines(root):
    logs = start_logs(str(root))
    log_change(Change(Cause.PUT_KV, None, (KvChanged("a", "b", "c"), KvChanged("d", "e", "f"))))
    logs.stop()
    assert [text.split(",")[0] for text in messages(root)] == ["putKVConfig update config item"] * 2


def test_the_level_holds_for_each_line_and_can_be_changed(root):
    logs = start_logs(str(root), "WARN")
    MAIN.info("no")
    log_change(Change(Cause.EXPIRED, None, (KvChanged("a", "b", "c"),)))
    logs.stop()
    logs = start_logs(str(root), "WARN")
    logs.set_level("DEBUG")
    MAIN.debug("yes")
    logs.stop()
    assert messages(root) == ["yes"]


def test_the_thread_is_named(root):
    logs = start_logs(str(root))
    thread = threading.Thread(target=lambda: MAIN.info("hello"), name="FileThread_1")
    thread.start()
    thread.join()
    logs.stop()
    assert " INFO FileThread_1 - hello" in lines(root)[0]


def test_a_peer_can_not_forge_a_line(root):
    logs = start_logs(str(root))
    MAIN.info("new topic registered, %s", "x\n2024-01-01 00:00:00 INFO main - forged\x1b[2J\u2028é中")
    MAIN.info("x" * 20_000)
    logs.stop()
    assert len(lines(root)) == 2
    assert messages(root)[0].endswith("x\\n2024-01-01 00:00:00 INFO main - forged\\x1b[2J\\u2028é中")
    assert len(messages(root)[1]) == 16 * 1024 + 3


def test_a_traceback_is_written_below_its_line(root):
    logs = start_logs(str(root))
    try:
        int("x")
    except ValueError:
        MAIN.exception("failed")
    logs.stop()
    assert messages(root)[0] == "failed"
    assert lines(root)[1] == "Traceback (most recent call last):"


def test_a_record_that_can_not_be_made_into_text_does_not_end_the_log(root):
    logs = start_logs(str(root))
    MAIN.info("%d", "no number")
    MAIN.info("next")
    logs.stop()
    assert "a line could not be made: TypeError" in messages(root)[0]
    assert messages(root)[1] == "next"


class Disk:
    """A disk that is as slow, or as full, as the test says."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.go_on = threading.Event()
        self.is_busy = threading.Event()
        self.full = False

    def write(self, _: str, data: bytes) -> None:
        self.is_busy.set()
        assert self.go_on.wait(10 * PATIENCE)
        if self.full:
            raise OSError(28, "No space left on device")
        self.written.append(data.decode().partition(" - ")[2].rstrip("\n"))


def test_when_the_disk_is_slow_lines_are_dropped_and_counted():
    disk = Disk()
    logs = Logs(disk.write, lambda: None, "INFO", 3, io.StringIO())
    MAIN.info("0")
    assert disk.is_busy.wait(10 * PATIENCE)
    for number in range(1, 10):
        MAIN.info("%s", number)
    assert logs.dropped == 6
    disk.go_on.set()
    logs.stop()
    assert disk.written[:4] == ["0", "1", "2", "3"]
    assert disk.written[4].startswith("6 log entries were dropped")
    assert len(disk.written) == 5


def test_when_the_disk_is_full_it_is_said_once_on_stderr():
    disk, stderr = Disk(), io.StringIO()
    disk.go_on.set()
    disk.full = True
    logs = Logs(disk.write, lambda: None, "INFO", 10, stderr)
    MAIN.info("a")
    MAIN.info("b")
    logs.stop()
    assert logs.dropped == 2
    assert stderr.getvalue().count("the log can't be written") == 1
    assert "2 log entries were dropped" in stderr.getvalue()


def test_what_whoever_starts_it_shall_see_is_on_stderr_too(root):
    stderr = io.StringIO()
    logs = start_logs(str(root), stderr=stderr)
    MAIN.error("no journal: %s", "in use", extra=ON_CONSOLE)
    MAIN.error("another")
    logs.stop()
    assert stderr.getvalue() == "namekeeper: no journal: in use\n"
    assert messages(root) == ["no journal: in use", "another"]


def test_when_the_disk_is_free_again_the_log_no_longer_fails(monkeypatch):
    monkeypatch.setattr("namekeeper.app.logs.RETRY_SECONDS", 0.01)
    disk = Disk()
    disk.go_on.set()
    disk.full = True
    logs = Logs(disk.write, lambda: None, "INFO", 10, io.StringIO())
    MAIN.info("a")
    eventually(lambda: logs.is_failing, within=10, what="the disk refuses a line")
    disk.full = False
    eventually(lambda: not logs.is_failing, within=10, what="the log can be written again")
    logs.stop()
    assert logs.dropped == 1
    assert disk.written == ["1 log entries were dropped: the queue was full, or the disk refused them"]


def test_where_the_folder_can_not_be_written_the_log_goes_to_stderr(tmp_path):
    (tmp_path / "logs").write_text("a file in the way")
    stderr = io.StringIO()
    logs = start_logs(str(tmp_path / "logs" / "\x1b[31m"), stderr=stderr)
    MAIN.info("still here")
    logs.stop()
    first, second = stderr.getvalue().splitlines()
    assert first.startswith("namekeeper: can't log to ")
    assert first.isprintable()
    assert second.endswith("INFO main - still here")


def test_stopping_gives_the_loggers_back(root):
    before = [
        (list(logger.handlers), logger.level, logger.propagate)
        for logger in map(logging.getLogger, module._KEEP)
    ]
    logs = start_logs(str(root))
    logs.stop()
    logs.stop()
    after = [
        (list(logger.handlers), logger.level, logger.propagate)
        for logger in map(logging.getLogger, module._KEEP)
    ]
    assert before == after
    assert logging.getLogger("namekeeper").propagate is True


def test_a_disk_that_hangs_does_not_hold_up_the_end(monkeypatch):
    monkeypatch.setattr(module, "_STOP_SECONDS", 0.05)
    disk, closed = Disk(), []
    for limit in (1, 10):
        logs = Logs(disk.write, lambda: closed.append(1), "INFO", limit, io.StringIO())
        disk.is_busy.clear()
        MAIN.info("a")
        assert disk.is_busy.wait(10 * PATIENCE)
        MAIN.info("b")
        logs.stop()
    assert closed == []
    disk.go_on.set()
