"""Signals that end a run as Ctrl-C does."""

import signal
import threading

import pytest

from namekeeper.pipeline.signals import interrupted_by_signals


@pytest.fixture(autouse=True)
def usual_signals():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_second_signal_does_not_disturb_the_end():
    with interrupted_by_signals() as interruption:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGHUP)
    assert interruption.exit_code == 143


@pytest.mark.parametrize("fails", [True, False])
def test_spark_is_told_as_by_ctrl_c_even_if_its_java_is_dead(fails):
    told = []

    def at_interrupt(number, frame):
        told.append(number)
        raise ConnectionError("Java has ended") if fails else KeyboardInterrupt

    signal.signal(signal.SIGINT, at_interrupt)
    with interrupted_by_signals(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    assert told == [signal.SIGINT]


def test_where_ctrl_c_is_ignored_a_signal_ends_the_run_nevertheless():
    """A shell starts programs in the background like that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupted_by_signals(), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_an_ignored_signal_stays_ignored():
    """As `nohup` asks for."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interrupted_by_signals():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_in_another_thread_signals_are_left_alone():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def run():
        with interrupted_by_signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
