"""One attack on one server of its own: start, prepare, look before, attack, look after, attack again and stop it."""

import contextlib
import multiprocessing
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

from tests.attacks.bystander import Sample, Seen, stand_by
from tests.attacks.peers import Target
from tests.attacks.rows import Attack, Row
from tests.process.running import NameServerProcess
from tests.support.system.processes import eventually, free_port

__all__ = ["RECOVERY_SECONDS", "STOP_SECONDS", "Measured", "Memory", "attacking", "run_row", "served"]

SPAWN = multiprocessing.get_context("spawn")
BEFORE_SECONDS = 1.0
AFTER_SECONDS = 2.0
BITE_SECONDS = 2.0
"""How long the second attack lasts when the server is asked to stop."""
STOP_SECONDS = 10.0
STOP_AT_MOST_SECONDS = 60.0
STOP_LOOK_SECONDS = 0.05
RECOVERY_SECONDS = 60.0
RECOVERED_MIB = 64.0
"""Memory counts as back when no more than this is kept beside what is rightly held."""
MEMORY_PAUSE_SECONDS = 0.02
MIB = 1 << 20
SHOWN_CHARACTERS = 8_000


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen of one attack."""

    seen: Seen
    attack: tuple[float, float]
    """When it began and ended, on the monotonic clock."""
    held_mib: float
    """Memory before the attack."""
    most_mib: float
    recovery_seconds: float | None
    """After the end of the attack until memory was back; None if it was not within a minute."""
    stop_seconds: float | None
    """From SIGTERM, sent amid a second attack, to the end of the process; None if it had to be killed."""
    complaint: str
    """What the row's own check found wrong."""

    def lookups(self, phase: str) -> Sequence[Sample]:
        """Look-ups that began before, during or after the attack; one that waits for it to begin is of it."""
        begin, end = self.attack
        return [
            sample
            for sample in self.seen.lookups
            if phase == ("before" if sample.ended < begin else "during" if sample.began < end else "after")
        ]


Onslaught = Callable[[Target], contextlib.AbstractContextManager[Callable[[float], object]]]
"""Attacks while its block runs; the function that it gives lets it go on for so many seconds at most."""


def run_row(
    row: Row, *, scale: float = 1.0, seconds: float | None = None, onslaught: Onslaught | None = None
) -> Measured:
    """Take one row; `onslaught` does something else than the row's own attack, `seconds` ends it earlier."""
    begun = onslaught or partial(_alone, row.attack)
    with contextlib.ExitStack() as stack:
        server, target, memory = stack.enter_context(served(row, scale))
        with contextlib.ExitStack() as prepared:
            row.prepare(target, prepared)
            bystanders = stack.enter_context(_bystanders_of(server, target))
            threading.Event().wait(BEFORE_SECONDS)
            held = memory.now()
            memory.forget()
            begin = time.monotonic()
            with begun(target) as go_on:
                go_on(row.seconds if seconds is None else min(seconds, row.seconds))
            end = time.monotonic()
            recovery = _recovery(memory, held + row.state_mib + RECOVERED_MIB)
            threading.Event().wait(AFTER_SECONDS)
            seen = bystanders.collect()
            most = memory.most()
            complaint = row.check(target)
            again = replace(target, salt="again")
            with begun(again) as go_on:
                go_on(BITE_SECONDS)
                stopped = _stop_seconds(server)
    return Measured(seen, (begin, end), held, most, recovery, stopped, complaint)


@contextlib.contextmanager
def served(row: Row, scale: float = 1.0) -> Iterator[tuple[NameServerProcess, Target, "Memory"]]:
    """Run a server for a row, in a folder that goes at the end."""
    with tempfile.TemporaryDirectory(prefix="namekeeper-attack-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        row.files(folder)
        http_port = free_port()
        flags = {"http_port": str(http_port), "journal_path": str(folder / "journal"), **_flags(row, folder)}
        server = NameServerProcess(folder, **flags)  # type: ignore[arg-type] # no flag is named as `command`
        with server, Memory(server.pid) as memory:
            server.started()
            with contextlib.closing(
                eventually(partial(_connected, http_port), within=20, what="the HTTP port")
            ):
                pass  # a server listens there after it listens for clients
            scheme = "https" if "http_tls_mode" in row.flags else "http"
            port = int(server.address.rpartition(":")[2])
            yield server, Target(port, http_port, folder, scale, scheme=scheme), memory


def _connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


@contextlib.contextmanager
def attacking(attack: Attack, target: Target) -> Iterator[multiprocessing.process.BaseProcess]:
    """Attack from a process of its own, which is killed at the end: its connections close."""
    process = SPAWN.Process(target=_attack_quietly, args=(attack, target), daemon=True)
    process.start()
    try:
        yield process
        if process.exitcode:
            raise RuntimeError(f"the attack itself failed, with status {process.exitcode}")
    finally:
        process.kill()
        process.join()


@contextlib.contextmanager
def _alone(attack: Attack, target: Target) -> Iterator[Callable[[float], object]]:
    with attacking(attack, target) as process:
        yield process.join


class Memory(threading.Thread):
    """Looks again and again at how much memory a process has."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._file = Path(f"/proc/{pid}/statm")
        self._over = threading.Event()
        self._most = 0.0

    def now(self) -> float:
        """Resident memory, MiB; 0 when the process is gone."""
        try:
            return int(self._file.read_text().split()[1]) * 4_096 / MIB
        except (OSError, IndexError):
            return 0.0

    def most(self) -> float:
        """The most that was seen since `forget`."""
        return self._most

    def forget(self) -> None:
        """Begin anew."""
        self._most = 0.0

    def run(self) -> None:
        while not self._over.is_set():
            self._most = max(self._most, self.now())
            self._over.wait(MEMORY_PAUSE_SECONDS)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


class _Bystanders:
    def __init__(self, channel: Connection) -> None:
        self._channel = channel

    def collect(self) -> Seen:
        self._channel.send("over")
        seen: Seen = self._channel.recv()
        return seen


@contextlib.contextmanager
def _bystanders_of(server: NameServerProcess, target: Target) -> Iterator[_Bystanders]:
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(
        target=stand_by,
        args=(target.port, f"{target.scheme}://127.0.0.1:{target.http_port}", server.pid, theirs),
        daemon=True,
    )
    process.start()
    theirs.close()
    try:
        ours.recv()
        yield _Bystanders(ours)
    finally:
        process.kill()
        process.join()


def _attack_quietly(attack: Attack, target: Target) -> None:
    with contextlib.suppress(OSError):  # a server that closes connections defends itself
        attack(target)


def _recovery(memory: Memory, limit: float) -> float | None:
    begin = time.monotonic()
    pause = threading.Event()
    while (passed := time.monotonic() - begin) < RECOVERY_SECONDS:
        if memory.now() <= limit:
            return passed
        pause.wait(0.1)
    return None


def _stop_seconds(server: NameServerProcess) -> float | None:
    """Send SIGTERM; return how long it took, without the time that the server waited for a processor."""
    begin = looked = time.monotonic()
    starved, waited = 0.0, _waited(server.pid)
    server.signal(signal.SIGTERM)
    while looked < begin + STOP_AT_MOST_SECONDS:
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.ended(within=STOP_LOOK_SECONDS)
            break
        since, looked = looked, time.monotonic()
        before, waited = waited, _waited(server.pid)
        longest = max((seconds - before.get(thread, 0.0) for thread, seconds in waited.items()), default=0.0)
        starved += min(longest, looked - since)
    else:
        _show(server)
        return None
    if server.err:  # what each thread did when a stop hung
        _show(server)
    return max(0.0, time.monotonic() - begin - starved)


def _waited(pid: int) -> dict[str, float]:
    """Seconds that each thread of a process was ready to run and had no processor, so far."""
    found = {}
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError):
            found[file.parent.name] = int(file.read_text().split()[1]) / 1e9
    return found


def _show(server: NameServerProcess) -> None:
    """Print what a server that did not stop in order did last."""
    print(
        server.err[-SHOWN_CHARACTERS:], server.log[-SHOWN_CHARACTERS:], sep="\n", file=sys.stderr, flush=True
    )


def _flags(row: Row, folder: Path) -> dict[str, str]:
    return {name: value.replace("{folder}", str(folder)) for name, value in row.flags.items()}
