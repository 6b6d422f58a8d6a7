"""`mqshutdown namesrv` stops what it finds, waits for it, and speaks as RocketMQ's script."""

import subprocess
import sys

import pytest

from namekeeper.cli import mqshutdown
from tests.support.system.waiting import PATIENCE

SERVER = """
import signal, sys, threading
from namekeeper.app.pid_file import hold_pid_file
stop = threading.Event()
signal.signal(signal.SIGTERM, (lambda *_: stop.set()) if sys.argv[2] == "stops" else signal.SIG_IGN)
file = hold_pid_file(sys.argv[1])
print("held", flush=True)
while not stop.wait(0.02): pass
file.release()
"""


@pytest.fixture
def start(tmp_path):
    processes = []

    def start(behaviour: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(tmp_path), behaviour], stdout=-1, text=True
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments: str) -> tuple[int | str | None, str, str]:
        monkeypatch.setattr(sys, "argv", ["mqshutdown", *arguments])
        with pytest.raises(SystemExit) as exit_info:
            mqshutdown.main()
        return exit_info.value.code, *capsys.readouterr()

    return run


def test_a_server_is_stopped_and_awaited(tmp_path, start, run):
    process = start("stops")
    status, out, _ = run("namesrv", "--log-root", str(tmp_path))
    assert status == 0
    assert out.splitlines() == [
        f"The mqnamesrv({process.pid}) is running...",
        f"Send shutdown request to mqnamesrv({process.pid}) OK",
    ]
    assert process.wait(10 * PATIENCE) == 0


def test_a_server_that_does_not_stop_is_status_1(tmp_path, start, run, monkeypatch):
    monkeypatch.setattr(mqshutdown, "_GRACE_SECONDS", 0)
    process = start("stays")
    status, _, err = run("namesrv", "--log-root", str(tmp_path))
    assert status == 1
    assert str(process.pid) in err


def test_draining_gets_its_time(tmp_path, run, monkeypatch):
    waited = []
    monkeypatch.setattr(mqshutdown, "_wait", lambda *arguments: waited.append(arguments) or 0)
    monkeypatch.setattr(mqshutdown, "running_name_servers", lambda _: [2**22 + 1])
    file = tmp_path / "namesrv.properties"
    file.write_text(f"logRoot={tmp_path}\nenableShutdownGracefully=true\nshutdownWaitTimeSeconds=7\n")
    assert run("namesrv", "-c", str(file))[0] == 0
    assert waited == [(str(tmp_path), {2**22 + 1}, 7 + 15)]


def test_no_server_is_status_255_as_in_the_script(tmp_path, run):
    assert run("namesrv", "--log-root", str(tmp_path)) == (255, "No mqnamesrv running.\n", "")


@pytest.mark.parametrize("arguments", [[], ["broker"], ["namesrv", "-c"], ["namesrv", "-x", "y"]])
def test_other_words_are_answered_by_the_usage(run, arguments):
    status, out, _ = run(*arguments)
    assert status == 255
    assert out.startswith("Useage: mqshutdown namesrv")
