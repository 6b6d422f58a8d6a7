"""What a signal does within, afterwards, and at no moment between."""

import asyncio
import os
import signal

import pytest
import uvloop

from namekeeper.app.stop_signals import STOP_SIGNALS, stopping_by_signals

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
