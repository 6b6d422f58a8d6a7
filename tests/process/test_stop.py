"""SIGTERM and SIGINT stop it in order and at once, mqshutdown finds it, and nothing is left behind."""

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from namekeeper.wire.codec import encode_command
from tests.process.running import BIN, PATIENCE_SECONDS, NameServerProcess, environment, holding
from tests.support.server.front import EARLY_READS, FRONT_UNDER_TEST
from tests.support.system.processes import eventually, free_port
from tests.support.wire.ask import ask
from tests.unit.app.parts import frame, registration


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_with_status_0(tmp_path, number):
    with NameServerProcess(tmp_path, shutdown_wait_time_seconds="86400") as server:
        server.started()
        assert server.ask(100, namespace="a", key="b", value="c").code == 0
        with holding(server.address, encode_command(registration()), frame(106)):
            eventually(lambda: b"broker-a" in server.ask(106).body, within=10, what="the registration")
            server.signal(number)
            assert server.ended() == 0  # although its peers stay
    assert server.err == ""
    assert "INFO main - the name server stops\n" in server.log
    assert "unregisterBroker" not in server.log
    assert server.kv_file.read_bytes() == b'{"configTable":{"a":{"b":"c"}}}'
    assert not list(server.log_root.glob("*.pid"))


@pytest.mark.parametrize("number", [signal.SIGPWR, signal.SIGXCPU])
def test_what_a_host_sends_to_end_it_stops_it_in_order(tmp_path, number):
    with NameServerProcess(tmp_path) as server:
        server.started()
        server.signal(number)
        assert server.ended() == 0
    assert "INFO main - the name server stops\n" in server.log


def test_signals_of_operators_do_not_end_it_and_sighup_opens_the_log_again(tmp_path):
    with NameServerProcess(tmp_path) as server:
        server.started()
        log = server.log_root / "namesrv.log"
        log.rename(log.with_suffix(".1"))
        for name in ("QUIT", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "PIPE", "RTMIN", "RTMAX", "HUP"):
            server.signal(getattr(signal, f"SIG{name}"))
        eventually(log.exists, within=10, what="a new log file")
        server.logged("SIGHUP: the log files were opened again")
        assert server.stop() == 0
    assert "File " in server.err  # SIGQUIT shows the stacks of all threads


@pytest.mark.parametrize("command", ["serve", "mqnamesrv"])
@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM, signal.SIGINT])
def test_signals_before_the_first_import_of_a_server_do_no_harm(command, number):
    code = (
        "import os, sys; from namekeeper.cli.main import main; sys.argv = ['namekeeper', sys.argv[1], '-p']\n"
        "class Finder:\n"
        " def find_spec(self, name, *_):\n"
        "  if name.startswith('namekeeper.cli.'): os.kill(os.getpid(), NUMBER)\n"
        "sys.meta_path.insert(0, Finder()); main()"
    ).replace("NUMBER", str(int(number)))
    done = subprocess.run(
        [sys.executable, "-c", code, command],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == (-number if number == signal.SIGINT else 0)
    assert "Traceback" not in done.stderr


def test_a_signal_while_the_http_pages_are_still_loading(tmp_path):
    with NameServerProcess(tmp_path, http_port="0") as server:
        server.started()
        assert server.stop() == 0
    assert server.err == ""


def test_a_second_signal_changes_nothing(tmp_path):
    flags = {"enable_shutdown_gracefully": "true", "shutdown_wait_time_seconds": "30"}
    with NameServerProcess(tmp_path, **flags) as server:
        server.started()
        with holding(server.address, frame(105, topic="T")) as connection:
            assert connection.recv(65_536)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
                server.signal(number)
                server.logged("the name server stops")
            connection.sendall(frame(105, topic="T"))
            assert b'"code":1500' in connection.recv(65_536)
        assert server.ended() == 0  # as soon as the last one has gone
    assert server.err == ""
    assert server.log.count("the name server stops") == 1


def test_signals_while_the_process_ends_change_nothing(tmp_path):
    with NameServerProcess(tmp_path) as server:
        server.started()
        server.signal(signal.SIGTERM)
        while server._child.poll() is None:
            server.signal(signal.SIGTERM)
            server.signal(signal.SIGINT)
            time.sleep(0.001)
        assert server.ended() == 0
    assert server.err == ""


HANGING = """
import asyncio, sys
import namekeeper.app.name_server as module
import namekeeper.app.run as process
from namekeeper.cli.serve import main

class Hanging(module.NameServer):
    async def stop(self):
        await asyncio.Event().wait()

process.NameServer = Hanging
module.STUCK_SECONDS = 0.5
sys.exit(main(sys.argv[1:]))
"""


def harmed(program: str, folder: Path) -> tuple[str, ...]:
    """The command line of a program that starts a server after it has done some harm to it."""
    properties = folder / "namesrv.properties"
    properties.write_text(
        "listenPort=0\nbindAddress=127.0.0.1\nhttpPort=-1\n"
        f"kvConfigPath={folder}/kv.json\nlogRoot={folder}/logs\n"
    )
    return (sys.executable, "-c", program, "-c", str(properties))


def test_a_stop_that_hangs_ends_the_process_and_says_where(tmp_path):
    with NameServerProcess(tmp_path, command=harmed(HANGING, tmp_path)) as server:
        server.started()
        server.signal(signal.SIGTERM)
        assert server.ended() == 1
        assert "Timeout" in server.err
        assert "in run" in server.err


STOPS_IN_STEPS = f"""
import asyncio, sys
from pathlib import Path
from namekeeper.app.name_server import NameServer
from namekeeper.cli.serve import main
from namekeeper.remoting import lending
from namekeeper.remoting.server import RemotingServer

lending.MIN_LOOKUP_READS = {EARLY_READS}

def until(file):
    async def wait(self, seconds):
        while not Path(file).exists():
            await asyncio.sleep(0.01)
    return wait

NameServer._wait_until_gone = until("drained")
RemotingServer.drain = until("finished")
sys.exit(main(sys.argv[1:]))
"""
"""Clients leave, and requests under way end, when a file is there: lookups come while the server stops."""


def codes_of_lookups(connection: socket.socket) -> set[bytes]:
    """The codes of the answers to some lookups of a client that does not know GO_AWAY."""
    codes = set()
    for _ in range(3 * EARLY_READS):
        connection.sendall(frame(105, version=475, topic="T1"))
        codes.add(connection.recv(65_536).partition(b'"code":')[2].partition(b",")[0])
    return codes


@pytest.mark.parametrize("is_graceful", [False, True])
def test_lookups_are_refused_when_the_server_stops(tmp_path, monkeypatch, is_graceful):
    """With enableShutdownGracefully they are answered until the drain ends (R#11073); on both fronts."""
    monkeypatch.chdir(tmp_path)
    words = "--front", FRONT_UNDER_TEST, "--enable-shutdown-gracefully", str(is_graceful).lower()
    with NameServerProcess(tmp_path, *words, command=harmed(STOPS_IN_STEPS, tmp_path)) as server:
        server.started()
        with (
            holding(server.address, encode_command(registration())) as broker,
            holding(server.address) as client,
        ):
            assert broker.recv(65_536)
            assert codes_of_lookups(client) == {b"0"}
            server.signal(signal.SIGTERM)
            server.logged("the name server stops")
            if is_graceful:
                assert codes_of_lookups(client) == {b"0"}
                (tmp_path / "drained").touch()
            eventually(lambda: codes_of_lookups(client) == {b"1"}, within=20, what="refusals")
            (tmp_path / "finished").touch()
            assert server.ended() == 0


DISK_HANGS = """
import sys, threading
import namekeeper.app.name_server as module
from namekeeper.cli.serve import main
from namekeeper.journal import journal
from namekeeper.journal.disk.writer import Writer

module.STOP_SECONDS = module.JOURNAL_SECONDS = module.BUSY_SECONDS = 0.3
journal.HANG_S = 0.05
Writer.close = lambda *_: threading.Event().wait()
sys.exit(main(sys.argv[1:]))
"""
"""The journal's disk hangs while it stops."""


def test_a_stop_after_which_not_all_is_on_disk_has_status_1(tmp_path):
    with NameServerProcess(tmp_path, command=harmed(DISK_HANGS, tmp_path)) as server:
        server.started()
        server.signal(signal.SIGTERM)
        assert server.ended() == 1
    assert "the journal's disk hangs" in server.log
    assert server.err == ""


def test_the_port_is_free_again(tmp_path):
    port = str(free_port())
    with NameServerProcess(tmp_path / "first", listen_port=port) as first:
        first.started()
        with holding(first.address, frame(106)) as connection:
            assert connection.recv(65_536)
            assert first.stop() == 0
            assert connection.recv(1) == b""
    with NameServerProcess(tmp_path / "second", listen_port=port) as second:
        assert second.started().ask(106).code == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)), 1)


def test_mqshutdown_stops_it(tmp_path):
    with NameServerProcess(tmp_path) as server, NameServerProcess(tmp_path / "other") as other:
        server.started()
        other.started()
        command = [str(BIN / "mqshutdown"), "namesrv", "--log-root", str(server.log_root)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment(tmp_path),
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == [
            f"The mqnamesrv({server.pid}) is running...",
            f"Send shutdown request to mqnamesrv({server.pid}) OK",
        ]
        assert server.ended() == 0
        assert ask(other.address, 106).code == 0
