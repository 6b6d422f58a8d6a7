"""Whoever changed something is answered when the file holds it; many changes share one writing."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from namekeeper.app import saver as module
from namekeeper.app.saver import SavedFile, Saver
from namekeeper.processor.outcome import Save
from namekeeper.remoting.log_limit import LINES
from tests.support.system.waiting import PATIENCE, eventually, turns
from tests.unit.app.parts import HeldExecutor


class Written:
    """A file, the state that it follows, and who received what."""

    def __init__(self, path, executor=None):
        self.path = path
        self.state = b""
        self.texts = 0
        self.executor = executor or HeldExecutor()
        loop = asyncio.get_running_loop()
        self.file = SavedFile(
            str(path), self.text, executor=self.executor, call_soon_threadsafe=loop.call_soon_threadsafe
        )
        self.received: list[tuple[str, object]] = []

    def text(self):
        self.texts += 1
        return self.state

    def save(self, who):
        self.state += who.encode()
        self.file.save(lambda answer: self.received.append((who, answer and (answer.code, answer.remark))))


@pytest.fixture
async def written(tmp_path):
    return Written(tmp_path / "deep" / "kv.json")


async def test_nobody_is_told_before_the_file_holds_it(written):
    written.save("a")
    await turns()
    assert not written.received
    await written.executor.run()
    assert written.received == [("a", None)]
    assert written.path.read_bytes() == b"a"


async def test_changes_during_a_writing_share_the_next(written):
    for who in "abcd":
        written.save(who)
    assert len(written.executor.tasks) == 1
    await written.executor.run()
    assert written.received == [("a", None)]
    assert written.path.read_bytes() == b"a"
    await written.executor.run()
    assert written.received == [(who, None) for who in "abcd"]
    assert written.path.read_bytes() == b"abcd"
    assert written.texts == 2
    assert not written.executor.tasks


async def test_the_file_is_written_again_where_nothing_changed(written):
    for _ in range(2):  # Java writes after every request, and the file may have been removed
        written.save("")
        await written.executor.run()
        written.path.unlink()
    assert len(written.received) == 2


async def test_everybody_hears_of_a_failure_and_the_next_success_is_one(written):
    written.path.mkdir(parents=True)
    written.save("a")
    await written.executor.run()
    ((_, answer),) = written.received
    assert answer == (
        1,
        "the change is in effect but not on disk: it is not a regular file (Is a directory): move it away",
    )
    assert written.file.has_failed
    written.path.rmdir()
    written.save("b")
    written.save("c")
    await written.executor.run()
    await written.executor.run()
    assert written.received[1:] == [("b", None), ("c", None)]
    assert not written.file.has_failed
    assert written.path.read_bytes() == b"abc"


async def test_what_the_disk_refused_is_written_when_there_is_room_again(written, monkeypatch, caplog):
    """After room was made, the file stayed as it was until somebody made another change."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0)
    written.path.mkdir(parents=True)
    written.save("a")
    await written.executor.run()
    saver = Saver({Save.KV_CONFIG: written.file})
    trying = asyncio.create_task(saver.keep_trying())
    for _ in range(3):
        await eventually(lambda: written.executor.tasks)
        await written.executor.run()
    assert saver.has_failed
    written.path.rmdir()
    with caplog.at_level("INFO"):
        while saver.has_failed:
            await eventually(lambda: written.executor.tasks or not saver.has_failed)
            await written.executor.run()
    assert written.path.read_bytes() == b"a"
    assert len(written.received) == 1
    assert caplog.text.count("in memory only") == 1
    assert "is written again: it has every change" in caplog.text
    await turns()
    assert not written.executor.tasks
    trying.cancel()


async def test_a_stop_tries_once_more_what_the_disk_refused(written):
    written.path.mkdir(parents=True)
    written.save("a")
    await written.executor.run()
    written.path.rmdir()
    finishing = asyncio.create_task(Saver({Save.KV_CONFIG: written.file}).finish())
    await turns()
    await written.executor.run()
    await finishing
    assert written.path.read_bytes() == b"a"


async def test_a_stop_ends_though_the_disk_refuses_still(written):
    written.path.mkdir(parents=True)
    written.save("a")
    await written.executor.run()
    finishing = asyncio.create_task(written.file.finish())
    await turns()
    await written.executor.run()
    await finishing
    assert written.file.has_failed


async def test_what_is_no_error_of_the_disk_is_told_too(written, monkeypatch, caplog):
    def fail(*_):
        raise ValueError("a bug")

    monkeypatch.setattr(module, "atomic_replace", fail)
    written.save("a")
    await written.executor.run()
    assert written.received == [("a", (1, "the change is in effect but not on disk: a bug"))]
    assert "in memory only" in caplog.text


async def test_changes_without_end_do_not_fill_the_log_while_the_disk_is_full(written, caplog):
    written.path.mkdir(parents=True)
    for _ in range(2 * LINES):
        written.save("a")
        await written.executor.run()
    assert len(written.received) == 2 * LINES
    assert caplog.text.count("in memory only") == LINES


async def test_a_text_that_can_not_be_made_is_a_failure_like_others(written, monkeypatch):
    monkeypatch.setattr(written.file, "_text", lambda: 1 // 0)
    written.save("a")
    written.save("b")
    await turns()
    assert [answer[0] for _, answer in written.received] == [1, 1]
    monkeypatch.setattr(written.file, "_text", lambda: b"text")
    written.save("c")
    await written.executor.run()
    assert written.received[-1] == ("c", None)


async def test_finish_waits_for_what_waits(written):
    saver = Saver({Save.KV_CONFIG: written.file})
    await saver.finish()
    for who in "abc":
        written.save(who)
    finishing = asyncio.create_task(saver.finish())
    await written.executor.run()
    await turns()
    assert not finishing.done()
    await written.executor.run()
    await finishing
    assert written.path.read_bytes() == b"abc"


async def test_files_are_written_by_what_changed(tmp_path):
    kv, config = Written(tmp_path / "kv.json"), Written(tmp_path / "namesrv.properties")
    saver = Saver({Save.KV_CONFIG: kv.file, Save.CONFIG: config.file})
    received = []
    saver.save(Save.CONFIG, received.append)
    assert (len(kv.executor.tasks), len(config.executor.tasks)) == (0, 1)
    await config.executor.run()
    assert received == [None]
    kv.path.mkdir()
    saver.save(Save.KV_CONFIG, received.append)
    await kv.executor.run()
    assert saver.has_failed


async def test_the_loop_goes_on_while_a_thread_writes(tmp_path, monkeypatch):
    may_write, replace = threading.Event(), module.atomic_replace

    def wait_and_replace(*arguments):
        may_write.wait(10 * PATIENCE)
        replace(*arguments)

    monkeypatch.setattr(module, "atomic_replace", wait_and_replace)
    with ThreadPoolExecutor(1) as executor:
        written = Written(tmp_path / "kv.json", executor)
        for who in "abc":
            written.save(who)
        await turns()
        assert not written.received
        may_write.set()
        await eventually(lambda: len(written.received) == 3)
    assert written.path.read_bytes() == b"abc"
