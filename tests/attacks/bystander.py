"""Well-behaved peers beside an attack, in a process of their own: a client, a known broker, an operator's probe.

Each sample is the time of its request and the seconds until the answer. From these seconds the time is taken
away that a thread which answers was ready to run and had no processor, or that the asking thread had none,
whichever is more: an attack from this machine takes processors that an attack from elsewhere would not take.
Several may have waited at the same time, so their sum would take away too much. The threads that answer are
the server's main thread and those of the native front.
"""

import contextlib
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path

from tests.attacks.peers import Wire, frame, registration, topics
from tests.support.wire.peer import trusting

__all__ = ["KNOWN_TOPICS", "Sample", "Seen", "stand_by"]

KNOWN_TOPICS = 1_500
LOOKUP_PAUSE_SECONDS = 0.004
REGISTRATION_PAUSE_SECONDS = 2.0
PROBE_PAUSE_SECONDS = 0.5
PROBE_SECONDS = 60
FRONT_THREAD = "namekeeper-fron"
"""Name of the threads of the native front; the kernel keeps 15 characters."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One request."""

    began: float
    """On the monotonic clock, which all processes share."""
    seconds: float
    problem: str = ""
    """What went wrong; empty when the answer was right."""
    starved: float = 0.0
    """Seconds that were taken away."""

    @property
    def ended(self) -> float:
        """On the same clock."""
        return self.began + self.seconds + self.starved


@dataclass
class Seen:
    """What the bystanders saw."""

    lookups: list[Sample] = field(default_factory=list)
    registrations: list[Sample] = field(default_factory=list)
    probes: list[Sample] = field(default_factory=list)


def stand_by(port: int, pages: str, server_pid: int, channel: Connection) -> None:
    """Ask until the channel has a word, then send through it what was seen; `pages` is the HTTP port's URL."""
    seen = Seen()
    over = threading.Event()
    clock = _Clock(server_pid)
    askers = (
        _Asker(seen.registrations, over, clock, REGISTRATION_PAUSE_SECONDS, _Broker(port)),
        _Asker(seen.lookups, over, clock, LOOKUP_PAUSE_SECONDS, _Client(port)),
        _Asker(seen.probes, over, clock, PROBE_PAUSE_SECONDS, _Probe(pages)),
    )
    for asker in askers:
        asker.start()
        asker.was_answered.wait()
    channel.send("ready")
    channel.recv()
    over.set()
    for asker in askers:
        asker.give_up()
    channel.send(seen)


class _Clock:
    """Time, without what was lost because other processes had the processors."""

    def __init__(self, server_pid: int) -> None:
        tasks = Path(f"/proc/{server_pid}/task").iterdir()
        fronts = [task for task in tasks if (task / "comm").read_text().strip() == FRONT_THREAD]
        self._answering = [folder / "schedstat" for folder in (Path(f"/proc/{server_pid}"), *fronts)]

    def starved(self, thread: int | None) -> Sequence[float]:
        """Seconds so far in which each thread that answers was ready and did not run, and those of a thread."""
        files = *self._answering, Path(f"/proc/self/task/{thread}/schedstat")
        with contextlib.suppress(OSError, IndexError):
            return [int(file.read_text().split()[1]) / 1e9 for file in files]
        return [0.0] * len(files)


class _Asker(threading.Thread):
    """Asks again and again."""

    def __init__(
        self,
        samples: list[Sample],
        over: threading.Event,
        clock: _Clock,
        pause: float,
        ask: Callable[[], str],
    ) -> None:
        super().__init__(daemon=True)
        self._samples = samples
        self._over = over
        self._clock = clock
        self._pause = pause
        self._ask = ask
        self._pending: tuple[float, Sequence[float]] | None = None
        """When the present request began, and what had been lost until then."""
        self.was_answered = threading.Event()

    def run(self) -> None:
        while not self._over.is_set():
            pending = self._pending = time.monotonic(), self._clock.starved(self.native_id)
            try:
                problem = self._ask()
            except (OSError, urllib.error.URLError) as error:
                problem = str(error) or type(error).__name__
            self._samples.append(self._sample(pending, problem))
            self._pending = None
            self.was_answered.set()
            self._over.wait(self._pause)

    def give_up(self) -> None:
        """Count a request that has no answer yet by the time that it waited so far, like each other one."""
        pending = self._pending
        if pending is not None and self.is_alive():
            self._samples.append(self._sample(pending, ""))

    def _sample(self, pending: tuple[float, Sequence[float]], problem: str) -> Sample:
        began, starved = pending
        passed = time.monotonic() - began
        now = self._clock.starved(self.native_id)
        lost = max(after - before for after, before in zip(now, starved, strict=True))
        lost = min(passed, max(0.0, lost))
        return Sample(began, passed - lost, problem, lost)


class _Kept:
    """A connection that is opened again after an error."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._wire: Wire | None = None

    def ask(self, data: bytes) -> tuple[bytes, bytes]:
        if self._wire is None:
            self._wire = Wire(self._port)
        try:
            return self._wire.ask(data)
        except OSError:
            self._wire.socket.close()
            self._wire = None
            raise


class _Client:
    """Looks up a topic of the known broker."""

    def __init__(self, port: int) -> None:
        self._kept = _Kept(port)
        self._frame = frame(105, {"topic": "Known000001"})

    def __call__(self) -> str:
        header, body = self._kept.ask(self._frame)
        return "" if b'"known-broker"' in body else f"no route: {header[:200]!r}"


class _Broker:
    """Registers 1,500 topics; each time it has something new to say."""

    def __init__(self, port: int) -> None:
        self._kept = _Kept(port)
        self._topics = topics("Known", KNOWN_TOPICS)
        self._counter = 0

    def __call__(self) -> str:
        self._counter += 1
        data = registration(
            "known-broker", self._topics, cluster="KnownCluster", addr="10.0.0.1:10911", counter=self._counter
        )
        header, _ = self._kept.ask(data)
        return "" if b'"code":0,' in header else f"refused: {header[:200]!r}"


class _Probe:
    """Asks for health and readiness in turns, as an operator's probes do, each over its own connection."""

    def __init__(self, pages: str) -> None:
        self._urls = cycle(f"{pages}/{page}" for page in ("healthz", "readyz"))
        self._tls = trusting()

    def __call__(self) -> str:
        with urllib.request.urlopen(next(self._urls), timeout=PROBE_SECONDS, context=self._tls) as answer:
            return "" if answer.status == 200 else f"status {answer.status}"
