"""The parts of a running name server with everything outside of it under the test's control."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from namekeeper.app.cluster_test import ClusterTest
from namekeeper.app.effects import Effects
from namekeeper.app.journaling import Journaling
from namekeeper.app.logs import Logs
from namekeeper.app.name_server import NameServer
from namekeeper.app.requests import Requests
from namekeeper.app.saver import SavedFile, Saver
from namekeeper.broker.payload import register_broker_request
from namekeeper.clock import Clock
from namekeeper.config.startup import Startup, make_startup
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.model.now import Now
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.processor.outcome import Save
from namekeeper.processor.state import NameServerState
from namekeeper.remoting.scheduler import Scheduler
from namekeeper.route.events import MinBrokerIdChanged
from namekeeper.wire.codec import encode_command
from namekeeper.wire.command import RemotingCommand, request
from tests.support.server.builders import at, header
from tests.support.server.front import FRONT_UNDER_TEST
from tests.unit.remoting.joined import Joined

__all__ = ["FakeClock", "HeldExecutor", "Parts", "frame", "name_server", "registration", "startup"]

LOCAL = "127.0.0.1"

PAGES_BY_CERTIFICATE = """
mode = "enforce"
[[rule]]
name = "pages"
requests = ["http"]
certificates = ["DNS:ops.test"]
[[rule]]
name = "rest"
requests = ["any"]
"""
"""Access rules: the operators' pages are for one certificate, the rest is for everybody."""


class FakeClock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self._now = at(0)

    def now(self) -> Now:
        return self._now

    def advance(self, seconds: float) -> None:
        ms = int(seconds * 1000)
        self._now = Now(self._now.wall_ms + ms, self._now.mono_ms + ms)


class HeldExecutor(Executor):
    """Keeps what it is to do until the test lets it."""

    def __init__(self) -> None:
        self.tasks: list[Callable[[], Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks.append(lambda: fn(*args, **kwargs))
        return Future()

    async def run(self) -> None:
        """Do it, in a thread as usual, and let the loop hear of it."""
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            await asyncio.to_thread(task)
        await asyncio.sleep(0)


class Parts:
    """Requests with what they need; `connect` gives connections without sockets."""

    def __init__(
        self,
        folder: Path,
        *,
        cluster_test: ClusterTest | None = None,
        clock: Clock | None = None,
        **flags: str,
    ) -> None:
        self.startup = startup(folder, **flags)
        self.kv_file = Path(self.startup.settings.kv_config_path)
        self.state = NameServerState(self.startup.runtime_config, KvConfigStore())
        self.clock = FakeClock()
        """Not used if another clock is given."""
        self.executor = HeldExecutor()
        self.notified: list[MinBrokerIdChanged] = []
        self.reconfigured: list[dict[str, str]] = []
        self.effects = Effects(
            Journaling(self.state, clock=clock or self.clock),
            self.notified.append,
            lambda properties: self.reconfigured.append(dict(properties)),
        )
        self.saver = Saver({Save.KV_CONFIG: self.file(self.kv_file, self.state.kv_config.to_text),
                            Save.CONFIG: self.file(folder / "namesrv.properties",
                                                   lambda: self.state.config.file_text().encode())})  # fmt: skip
        self.turns: list[Callable[[], None]] = []
        """Iterations of the loop that were ordered; the test runs them."""
        self.seconds, self.tick = 1.0, 0.0
        """The scheduler's time, and how much passes at each look."""
        self.scheduler = Scheduler(self._passing_time, self.turns.append)
        self.requests = Requests(
            self.state,
            self.effects,
            self.saver,
            clock=clock or self.clock,
            scheduler=self.scheduler,
            cluster_test=cluster_test,
        )

    def file(self, path: Path, text: Callable[[], bytes]) -> SavedFile:
        loop = asyncio.get_running_loop()
        return SavedFile(
            str(path), text, executor=self.executor, call_soon_threadsafe=loop.call_soon_threadsafe
        )

    def _passing_time(self) -> float:
        self.seconds += self.tick
        return self.seconds

    def connect(self) -> Joined:
        return Joined(self.requests)

    def run_turns(self) -> int:
        """Run iterations of the loop until none is ordered; returns how many there were."""
        count = 0
        while self.turns:
            self.turns.pop(0)()
            count += 1
        return count

    def results(self, code: int) -> dict[int, int]:
        """Answers to a code by their codes, none left out."""
        return {
            result: count for (of, result), count in self.requests.by_result().items() if of == code and count
        }


def startup(folder: Path, **flags: str) -> Startup:
    """Settings that keep to loopback and to a folder."""
    return make_startup(
        environment={},
        flags={
            "listen_port": "0",
            "bind_address": LOCAL,
            "http_port": "-1",
            "kv_config_path": str(folder / "kv.json"),
            "config_store_path": str(folder / "namesrv.properties"),
            "log_root": str(folder / "logs"),
            "tls_config_file": "",
            "front": FRONT_UNDER_TEST,
            **flags,
        },
    )


@contextlib.asynccontextmanager
async def name_server(
    folder: Path, *, clock: Clock | None = None, logs: Logs | None = None, **flags: str
) -> AsyncIterator[NameServer]:
    """A name server that runs in this loop; as in life it is made where no loop runs."""
    server = await asyncio.to_thread(NameServer, startup(folder, **flags), clock=clock, logs=logs)
    async with server:
        yield server


def frame(
    code: int, body: bytes = b"", *, opaque: int = 1, version: int = 513, oneway: bool = False, **fields: str
) -> bytes:
    return encode_command(request(code, fields, body, opaque=opaque, version=version, oneway=oneway))


def registration(
    topics: int | tuple[str, ...] = ("T1", "T2"), *, version: int = 1, release: int = 513, **fields: Any
) -> RemotingCommand:
    """A registration of broker-a; many topics take many turns."""
    names = tuple(f"T{number}" for number in range(topics)) if isinstance(topics, int) else topics
    body = RegisterBrokerBody(
        data_version=DataVersion(counter=version, timestamp=1_700_000_000_000 + version),
        topics=tuple(TopicConfig(name, read_queue_nums=4, write_queue_nums=4) for name in names),
    )
    return register_broker_request(header(**fields), body, version=release)
