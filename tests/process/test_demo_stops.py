"""The demo, interrupted: it stops what it started, and leaves no folder."""

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from namekeeper.cli.demo import history
from namekeeper.cli.demo.show import Stage
from namekeeper.errors import NamekeeperError

PATIENCE = 120


SIGNALS = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129}
REACHED = ["Two name servers start", "ns-1 at", "Three brokers register"]


@pytest.mark.parametrize(
    ("number", "reached"),
    [
        pytest.param(number, reached, marks=[] if i == j else pytest.mark.long)
        for i, number in enumerate(SIGNALS)
        for j, reached in enumerate(REACHED)
    ],
)
def test_a_signal_leaves_neither_folders_nor_processes(tmp_path, number, reached):
    command = [sys.executable, "-u", "-m", "namekeeper", "demo", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}, start_new_session=True,
        cwd=tmp_path,
    ) as demo:  # fmt: skip
        assert demo.stdout is not None
        while reached not in demo.stdout.readline():
            assert demo.poll() is None
        demo.send_signal(number)
        assert demo.wait(PATIENCE) == SIGNALS[number]
    assert list(tmp_path.glob("namekeeper-demo-*")) == []
    with pytest.raises(ProcessLookupError):
        os.killpg(demo.pid, 0)


WHILE_ONE_STARTS = """
import asyncio, signal, subprocess, sys
from namekeeper.cli.main import main
run, make, started = asyncio.BaseEventLoop.run_in_executor, subprocess.Popen, []
def submit(*words):
    work = run(*words)
    signal.raise_signal(signal.SIGTERM)
    return work
def popen(*words, **settings):
    started.append(make(*words, **settings))
    return started[-1]
asyncio.BaseEventLoop.run_in_executor, subprocess.Popen = submit, popen
sys.argv[1:] = ["demo", "--no-browser"]
try:
    main()
finally:
    print("stopped:", [process.returncode for process in started])
"""


def test_a_signal_while_a_name_server_is_about_to_start_stops_it_too(tmp_path):
    done = subprocess.run(
        in_python(WHILE_ONE_STARTS), stdout=subprocess.PIPE, text=True, check=False, timeout=PATIENCE,
        env={**os.environ, "TMPDIR": str(tmp_path)}, cwd=tmp_path,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()[-1]) == (143, "stopped: [0]")
    assert list(tmp_path.glob("namekeeper-demo-*")) == []


def in_python(code):
    """Words that make a command of ours run other code."""
    return [sys.executable, "-u", "-c", code]


@pytest.fixture
def command(monkeypatch):
    """Let the demo run some other program, as one of our commands."""
    make = subprocess.Popen
    started = []

    def use(code):
        def popen(_words, **settings):
            started.append(make(in_python(code), **settings))
            return started[-1]

        monkeypatch.setattr(history.subprocess, "Popen", popen)
        return started

    return use


def test_long_work_shows_its_steps_and_how_to_stop_it(command):
    command("import sys; print('making incident', file=sys.stderr); print('two\\nlines', file=sys.stderr)")
    text = io.StringIO()
    history._run(Stage(Console(file=text)), ["pipeline", "run"], steps="Spark starts")
    assert [line.strip() for line in text.getvalue().splitlines()][1:] == ["making incident", "two", "lines"]
    screen = io.StringIO()
    history._run(
        Stage(Console(file=screen, force_terminal=True, width=80)), ["pipeline", "run"], steps="Spark starts"
    )
    assert "Spark starts; Ctrl-C stops it" in screen.getvalue()
    assert "lines; Ctrl-C stops it" in screen.getvalue()


def test_ctrl_c_while_spark_works_ends_it_and_the_story_goes_on(command, monkeypatch, tmp_path):
    started = command("import sys, time; print('making tables', file=sys.stderr); time.sleep(600)")
    told = threading.Event()

    class Screen(io.StringIO):
        def write(self, text):
            if "making tables" in text and not told.is_set():
                told.set()
                signal.raise_signal(signal.SIGINT)
            return super().write(text)

    text = Screen()
    monkeypatch.setattr(history, "find_spec", lambda _name: True)
    monkeypatch.setattr(history, "_instant", lambda _ms: "then")
    stage = Stage(Console(file=text, width=200))
    run = history._run
    monkeypatch.setattr(
        history, "_run", lambda stage, words, **more: run(stage, words, **more) if more else None
    )
    times, observer = SimpleNamespace(wiped_ms=0, cut_ms=0), SimpleNamespace(folder=tmp_path)
    incident = SimpleNamespace(servers=[], times=times, observer=observer)
    history.tell_history(stage, incident, tmp_path, tmp_path / "report.html")
    assert started[0].poll() is not None
    assert "Ctrl-C stops here; nothing is left behind" in text.getvalue()
    assert "stopped before the report" in text.getvalue()


def test_a_command_that_fails_says_why(command):
    command("import sys; print('the disk is full', file=sys.stderr); sys.exit(2)")
    with pytest.raises(NamekeeperError, match="it ended with 2\nthe disk is full"):
        history._run(Stage(Console(file=io.StringIO())), ["pipeline", "run"], steps="Spark starts")


def test_make_says_what_it_installs_before_it_does():
    """Pip works for minutes; nobody shall wonder whether anything happens."""
    root = Path(__file__).resolve().parents[2]
    plan = subprocess.run(
        ["make", "--dry-run", "VENV=not-there", "demo"], cwd=root, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    works = [number for number, line in enumerate(plan) if " pip " in line or "-m venv" in line]
    assert len(works) == 4
    assert all(
        any(line.startswith("echo ") for line in plan[max(number - 2, 0) : number]) for number in works
    )
