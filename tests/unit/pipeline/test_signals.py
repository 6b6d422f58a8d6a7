"""Signals that end a run as Ctrl-C does."""

import signal
import subprocess
import sys
import threading

import pytest

from namekeeper.pipeline.signals import interrupted_by_signals

# Its main thread is in a call that signals do not end, as in a library that waits for a store. Another thread says
# so: it runs when the main thread has left Python.
STUCK = """
import ctypes, signal, sys, threading
from namekeeper.pipeline import signals

signals.GRACE_SECONDS = 0.01
waiting = ctypes.CDLL(None).pause
is_leaving = threading.Lock()
is_leaving.acquire()

def say():
    with is_leaving:
        print("stuck", flush=True)

with signals.interrupted_by_signals(lambda: print("late", flush=True)):
    threading.Thread(target=say, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    sys.setswitchinterval(1_000)
    is_leaving.release()
    waiting()
"""


def never() -> None:
    raise AssertionError("it has ended in time")


def test_a_second_signal_does_not_disturb_the_end():
    with interrupted_by_signals(never) as interruption:
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
    with interrupted_by_signals(never), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    assert told == [signal.SIGINT]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]
)
def test_a_process_whose_store_does_not_answer_ends_nevertheless(number, code):
    command = [sys.executable, "-c", STUCK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stuck:
        assert stuck.stdout is not None
        assert stuck.stdout.readline() == "stuck\n"
        stuck.send_signal(number)
        assert stuck.stdout.read() == "late\n"
    assert stuck.returncode == code


def test_where_ctrl_c_is_ignored_a_signal_ends_the_run_nevertheless():
    """A shell starts programs in the background like that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupted_by_signals(never), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)


def test_an_ignored_signal_stays_ignored():
    """As `nohup` asks for."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interrupted_by_signals(never):
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_in_another_thread_signals_are_left_alone():
    before, seen = signal.getsignal(signal.SIGTERM), []

    def run():
        with interrupted_by_signals(never):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
