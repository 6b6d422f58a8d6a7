"""What a signal does within, afterwards, and at no moment between."""

import asyncio
import os
import re
import signal
from pathlib import Path

import pytest
import uvloop

import namekeeper
from namekeeper.app.stop_signals import (
    HARMLESS_SIGNALS,
    STOP_SIGNALS,
    ignore_harmless_signals,
    stopping_by_signals,
)

SOURCES = Path(namekeeper.__file__).parent
JOB_OF_THE_PIPELINE = Path("pipeline/signals.py")
"""A program of its own, which imports nothing of the commands."""
LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


pytestmark = pytest.mark.usefixtures("stop_signals_put_back")


def wakeup_fd() -> int:
    number = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(number, warn_on_full_buffer=False)
    return number


def run(loop_factory, main):
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(main())


@pytest.mark.parametrize("loop_factory", LOOPS)
@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_calls_it(loop_factory, number):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup may have started the tests

    async def main():
        stop = asyncio.Event()
        with stopping_by_signals(stop.set):
            os.kill(os.getpid(), number)
            assert await stop.wait()

    run(loop_factory, main)


@pytest.mark.parametrize("loop_factory", LOOPS)
def test_a_loop_that_sleeps_is_woken(loop_factory):
    """Python writes to this descriptor at a signal, whichever thread got it; a loop that reads it wakes up."""

    async def main():
        with stopping_by_signals(lambda: None):
            for _ in range(1_000):  # far more than fits between the two ends if nobody reads
                assert os.write(wakeup_fd(), bytes(4_096)) == 4_096
                await asyncio.sleep(0)

    run(loop_factory, main)


@pytest.mark.parametrize("loop_factory", LOOPS)
def test_no_moment_has_the_default_which_kills(loop_factory, monkeypatch):
    handlers = []
    set_handler = signal.signal

    def spy(number, handler):
        handlers.append((number, handler))
        return set_handler(number, handler)

    monkeypatch.setattr(signal, "signal", spy)

    async def main():
        with stopping_by_signals(lambda: None):
            handlers.clear()

    run(loop_factory, main)
    assert handlers == [(number, signal.SIG_IGN) for number in STOP_SIGNALS]
    for number in STOP_SIGNALS:
        assert signal.getsignal(number) is signal.SIG_IGN
        os.kill(os.getpid(), number)  # and nothing happens


@pytest.mark.parametrize("loop_factory", LOOPS)
def test_the_system_ignores_a_signal_before_python_does(loop_factory, monkeypatch, capfd):
    """A signal that Python gets but has no function for any more is printed with a traceback."""
    calls = []
    set_handler = signal.signal

    def signal_meanwhile(number, handler):
        os.kill(os.getpid(), number)
        return set_handler(number, handler)

    async def main():
        with monkeypatch.context() as patch, stopping_by_signals(lambda: calls.append("stop")):
            patch.setattr(signal, "signal", signal_meanwhile)
        await asyncio.sleep(0)

    run(loop_factory, main)
    assert calls == []
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("loop_factory", LOOPS)
def test_what_wakes_the_loop_is_put_back(loop_factory):
    async def main():
        before = wakeup_fd()
        with stopping_by_signals(lambda: None):
            assert wakeup_fd() != -1
        assert wakeup_fd() == before

    run(loop_factory, main)


@pytest.fixture
def harmless_signals_put_back():
    before = {number: signal.getsignal(number) for number in (*HARMLESS_SIGNALS, signal.SIGQUIT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("harmless_signals_put_back")
@pytest.mark.parametrize("loop_factory", LOOPS)
def test_other_signals_do_no_harm(loop_factory, capfd):
    calls = []

    async def main():
        with stopping_by_signals(lambda: calls.append("stop")):
            for number in (
                *HARMLESS_SIGNALS,
                signal.SIGQUIT,
                signal.SIGCHLD,
                signal.SIGWINCH,
                signal.SIGCONT,
            ):
                os.kill(os.getpid(), number)
            await asyncio.sleep(0)

    run(loop_factory, main)
    assert calls == []
    assert f"{main.__name__}" in capfd.readouterr().err  # SIGQUIT shows the stacks


@pytest.mark.usefixtures("harmless_signals_put_back")
def test_stacks_are_printed_while_no_thread_changes_them():
    """A handler of C read them meanwhile, and ended a busy process at one of some thousand signals."""
    ignore_harmless_signals()
    assert callable(signal.getsignal(signal.SIGQUIT)), "it is a handler of Python"


def test_each_signal_that_ends_a_process_is_handled_or_means_a_crash():
    """By default these do nothing, stop or continue the process; or nobody can handle them; or they are faults."""
    names = {"CHLD", "CLD", "CONT", "URG", "WINCH", "TSTP", "TTIN", "TTOU", "STOP", "KILL"}
    faults = {"ABRT", "IOT", "BUS", "FPE", "ILL", "SEGV", "SYS", "TRAP", "XFSZ"}
    left = {int(getattr(signal, f"SIG{name}")) for name in names | faults if hasattr(signal, f"SIG{name}")}
    handled = {*map(int, STOP_SIGNALS), *map(int, HARMLESS_SIGNALS), int(signal.SIGQUIT)}
    assert set(map(int, signal.valid_signals())) - left == handled


@pytest.mark.usefixtures("harmless_signals_put_back")
@pytest.mark.parametrize("loop_factory", LOOPS)
def test_sighup_reloads_where_that_is_wanted_and_is_ignored_afterwards(loop_factory):
    async def main():
        reloaded = asyncio.Event()
        stopped = []
        with stopping_by_signals(lambda: stopped.append("stop"), reload=reloaded.set):
            os.kill(os.getpid(), signal.SIGHUP)
            assert await reloaded.wait()
        assert stopped == []
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

    run(loop_factory, main)


@pytest.mark.usefixtures("harmless_signals_put_back")
def test_a_process_of_nohup_goes_on_when_its_terminal_closes():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    async def main():
        with stopping_by_signals(lambda: pytest.fail("it stops")):
            os.kill(os.getpid(), signal.SIGHUP)
            await asyncio.sleep(0)

    run(asyncio.new_event_loop, main)


def test_libraries_leave_the_signals_of_their_users_alone():
    """Only commands that own their process may handle signals."""
    users = {
        path.relative_to(SOURCES)
        for path in SOURCES.rglob("*.py")
        if re.search(r"\bsignal\.(signal|set_wakeup_fd)\(|add_signal_handler", path.read_text())
    }
    assert {path.parts[0] for path in users - {JOB_OF_THE_PIPELINE}} <= {"app", "cli"}
