"""The servers of the bench: how each is started, and what the kernel says of it while it runs."""

import compileall
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import namekeeper
from benchmarks.load.errors import RefusedError, ServerError
from benchmarks.load.fleet import ask
from benchmarks.load.payload import request
from tests.support.java import artifacts
from tests.support.java import servers as java_servers
from tests.support.system.processes import free_port

__all__ = [
    "JAVA_JVM",
    "JAVA_VERSION",
    "NAMES",
    "OURS",
    "REAL",
    "JournalStatus",
    "Server",
    "compile_ours",
    "started",
    "why_not",
]

JAVA_VERSION = "5.5.0"
JAVA_JVM = ("-Xmx2g",)
OURS = ("namekeeper", "native", "no-journal")
REAL = (*OURS, "java")
"""Those that keep tables; the memory of a bare responder says nothing, and it registers nobody."""
BARE = ("bare-uvloop", "bare-c")
COMPILED = ("bare-compiled", "bare-front")
"""Left out if a Rust toolchain has not built them: `make native`."""
NAMES = (*REAL, *BARE, *COMPILED)

READY_SECONDS = 300
STOP_SECONDS = 120
POLL_SECONDS = 0.001
GET_BROKER_CLUSTER_INFO = request(106, {})
STATUS_SECONDS = 60
BARE_UVLOOP = Path(__file__).with_name("bare_uvloop.py")
BARE_NATIVE = Path(__file__).with_name("bare_native.py")
COMPILED_PROTOCOL = Path(__file__).parents[2] / "build/bench/compiled/release/libbare_compiled.so"


class JournalStatus(NamedTuple):
    """How a journal does."""

    dropped_records: int = 0
    """Those that did not get into a file."""
    last_seq: int = 0
    """Number of the newest record."""
    durable_seq: int = 0
    """Number of the newest that a crash can't take."""


class Server:
    """A server that runs: its port, and its process as the kernel sees it."""

    def __init__(
        self, name: str, port: int, http_port: int, child: subprocess.Popen[bytes], ready_ms: float
    ) -> None:
        self.name = name
        self.port = port
        self.http_port = http_port
        self.pid = child.pid
        self.ready_ms = ready_ms
        self._child = child
        self.ready_cpu_ms = self.cpu_seconds() * 1000

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._child.poll() is None

    def stop(self) -> None:
        """Stop it in an orderly way, by SIGTERM, while its clients are there."""
        self._child.terminate()
        self._child.wait(STOP_SECONDS)

    def kill(self) -> None:
        """End it as a crash would, while its clients are there."""
        self._child.kill()
        self._child.wait()

    def cpu_seconds(self) -> float:
        """User and system time of all its threads, in nanoseconds' resolution.

        The clock id is what clock_getcpuclockid(3) computes for a process;
        /proc/<pid>/stat has the same number in steps of 10 ms.
        """
        return time.clock_gettime((~self.pid << 3) | 2)

    def journal_status(self) -> JournalStatus:
        """What a name server of ours says of its journal; zeros without one."""
        if self.name not in OURS:
            return JournalStatus()
        url = f"http://127.0.0.1:{self.http_port}/status"
        with urllib.request.urlopen(url, timeout=STATUS_SECONDS) as answer:
            told = json.load(answer)["journal"]
        return (
            JournalStatus(**{name: told[name] for name in JournalStatus._fields}) if told else JournalStatus()
        )

    def memory_mib(self) -> tuple[float, float]:
        """Resident memory now, and the highest it ever was."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        found = dict(re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", status, re.MULTILINE))
        return int(found["VmRSS"]) / 1024, int(found["VmHWM"]) / 1024


def why_not(name: str) -> str | None:
    """Return why a server can't run here, or None."""
    if name == "java":
        return artifacts.available()
    if name == "bare-compiled" and not COMPILED_PROTOCOL.exists():
        return "make native-bench builds it"
    if name in {"native", "bare-front"} and find_spec("namekeeper_front") is None:
        return "make native installs it"
    return None


def compile_ours() -> None:
    """Write the bytecode of our package, as pip does when it installs it.

    From a clone, with PYTHONDONTWRITEBYTECODE set, each start would compile all modules: half of its time.
    """
    for folder in namekeeper.__path__:
        compileall.compile_dir(folder, quiet=1)


@contextlib.contextmanager
def started(
    name: str, scratch: Path, responder: Path, routes: Path, *options: str, port: int | None = None
) -> Iterator[Server]:
    """Run a server on a free port; entered when it has answered a request, left when it has stopped.

    Args:
        name: Which.
        scratch: Folder for its files.
        responder: The built bare-c.
        routes: What the bare responders serve.
        options: More options for one of ours.
        port: Where it listens; None: at a free port.
    """
    home = scratch / f"{name}-{time.monotonic_ns()}"
    home.mkdir()
    port, http_port = port or free_port(), free_port()
    commands: dict[str, Callable[[], list[str]]] = {
        "namekeeper": lambda: _namekeeper(port, http_port, *options, "--front", "python"),
        "native": lambda: _namekeeper(port, http_port, *options, "--front", "native"),
        "no-journal": lambda: _namekeeper(
            port, http_port, *options, "--front", "python", "--journal-enable", "false"
        ),
        "java": lambda: _java(port, home),
        "bare-uvloop": lambda: [sys.executable, str(BARE_UVLOOP), str(port), str(routes)],
        "bare-c": lambda: [str(responder), str(port), str(routes)],
        "bare-compiled": lambda: [sys.executable, str(BARE_NATIVE), "compiled", str(port), str(routes)],
        "bare-front": lambda: [sys.executable, str(BARE_NATIVE), "front", str(port), str(routes)],
    }
    command = commands[name]()
    output = home / "output.txt"
    with output.open("wb") as sink:
        began = time.perf_counter()
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": str(home), "ROCKETMQ_HOME": str(home)},
        )  # fmt: skip
    try:
        _await_ready(name, port, child, output, began)
        yield Server(name, port, http_port, child, (time.perf_counter() - began) * 1000)
    finally:
        _stop(child)
        shutil.rmtree(home, ignore_errors=True)


def _namekeeper(port: int, http_port: int, *more: str) -> list[str]:
    options = ["--listen-port", str(port), "--bind-address", "127.0.0.1", "--http-port", str(http_port)]
    return [sys.executable, "-m", "namekeeper", "serve", *options, *more]


def _java(port: int, home: Path) -> list[str]:
    java_servers.prepare_home(home, JAVA_VERSION)
    properties = java_servers.write_properties(
        home / "namesrv.properties", {"listenPort": port, "bindAddress": "127.0.0.1"}
    )
    return java_servers.java_command(
        JAVA_VERSION, home, "namesrv.NamesrvStartup", "-c", str(properties), jvm=JAVA_JVM
    )


def _await_ready(name: str, port: int, child: subprocess.Popen[bytes], output: Path, began: float) -> None:
    """Ask for the cluster info until there is an answer: the time to it is a row of the bench."""
    while time.perf_counter() - began < READY_SECONDS:
        with contextlib.suppress(OSError, RefusedError):
            ask(port, GET_BROKER_CLUSTER_INFO, timeout=READY_SECONDS)
            return
        if child.poll() is not None:
            break
        time.sleep(POLL_SECONDS)
    raise ServerError(f"{name} did not start:\n{output.read_text(errors='replace')[-2000:]}")


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
