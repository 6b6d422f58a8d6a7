import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from namekeeper.remoting.loop_thread import LoopThread, loop_thread
from tests.support.system.waiting import PATIENCE


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    yield thread
    thread.stop()


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


async def fail() -> None:
    raise KeyError("mine")


def test_work_is_done_and_its_error_is_raised(thread):
    assert thread.run(answer(), timeout_seconds=10 * PATIENCE) == 42
    with pytest.raises(KeyError, match="mine"):
        thread.run(fail(), timeout_seconds=10 * PATIENCE)


def test_work_that_takes_too_long_is_cancelled(thread):
    cancelled = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(TimeoutError):
        thread.run(hang(), timeout_seconds=0.01)
    assert cancelled.wait(10 * PATIENCE)


def test_waiting_in_the_thread_itself_is_refused_rather_than_for_ever(thread):
    async def again() -> None:
        thread.run(answer(), timeout_seconds=10 * PATIENCE)

    with pytest.raises(RuntimeError, match="this is that thread; inside a loop use the async form"):
        thread.run(again(), timeout_seconds=10 * PATIENCE)


def test_a_stopped_thread_says_so_and_ends_what_ran(thread):
    ended = threading.Event()

    async def begin() -> None:
        async def hang() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        tasks.append(asyncio.create_task(hang()))
        await asyncio.sleep(0)

    tasks: list[asyncio.Task[None]] = []
    thread.run(begin(), timeout_seconds=10 * PATIENCE)
    thread.stop()
    thread.stop()
    assert ended.is_set()
    assert not thread.is_usable
    with pytest.raises(RuntimeError, match="it is gone"):
        thread.run(answer(), timeout_seconds=10 * PATIENCE)


def test_who_waits_is_told_when_it_is_stopped(thread):
    begun = threading.Event()
    errors: list[Exception] = []

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    def wait() -> None:
        try:
            thread.run(hang(), timeout_seconds=None)
        except RuntimeError as error:
            errors.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert begun.wait(10 * PATIENCE)
    thread.stop()
    waiting.join(10 * PATIENCE)
    assert "stopped meanwhile" in str(errors[0])


def test_a_process_has_one_and_a_new_one_after_it_was_stopped():
    first = loop_thread()
    assert loop_thread() is first
    first.stop()
    second = loop_thread()
    assert second is not first
    assert second.run(answer(), timeout_seconds=10 * PATIENCE) == 42
    second.stop()


SCRIPT = """
import asyncio, os
from namekeeper.remoting.loop_thread import loop_thread

async def answer():
    return os.getpid()

parent = loop_thread()
assert parent.run(answer(), timeout_seconds=100) == os.getpid()
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        assert not parent.is_usable
        parent.stop()
        child = loop_thread()
        assert child is not parent
        assert child.run(answer(), timeout_seconds=100) == os.getpid()
        raise SystemExit(0)  # its own thread ends with it
    assert os.waitpid(pid, 0)[1] == 0
    assert parent.run(answer(), timeout_seconds=100) == os.getpid()
print("fine")
"""


def test_a_forked_child_has_its_own_and_the_parent_s_goes_on():
    command = [sys.executable, "-X", "dev", "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50 * PATIENCE, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("fine\n", "", 0)
