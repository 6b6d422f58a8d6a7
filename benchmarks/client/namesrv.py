"""A name server of ours as a process, with brokers registered that all have the same topics."""

import asyncio
import contextlib
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from namekeeper.broker.payload import register_broker_request
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.remoting.client import RemotingClient
from namekeeper.remoting.loop_thread import loop_thread

__all__ = ["NameServerProcess"]

BOOT_SECONDS = 120
REGISTER_MS = 120_000
BOOT_LINE = re.compile(r"The Name Server boot success\. .*address (\S+)")


class NameServerProcess:
    """Started and filled by entering; leaving ends it by its own process id."""

    def __init__(self, topics: int, *, brokers: int) -> None:
        self.topics = [f"Topic-{number:06d}" for number in range(topics)]
        self._brokers = brokers
        self._resources = contextlib.ExitStack()
        self._client = RemotingClient()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            home = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="namekeeper-bench-")))
            self._start(home)
            opened.callback(self._stop)
            loop_thread().run(self._register(), timeout_seconds=REGISTER_MS / 1000 * 2)
            opened.callback(lambda: loop_thread().run(self._client.close(), timeout_seconds=BOOT_SECONDS))
            self._resources = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._resources.close()

    def _start(self, home: Path) -> None:
        options = {
            "listen-port": "0", "bind-address": "127.0.0.1", "http-port": "-1",
            "log-root": str(home / "logs"), "kv-config-path": str(home / "kv.json"),
            "config-store-path": str(home / "namesrv.properties"),
        }  # fmt: skip
        flags = [text for name, value in options.items() for text in (f"--{name}", value)]
        command = [sys.executable, "-m", "namekeeper", "serve", *flags]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=home)
        timer = threading.Timer(BOOT_SECONDS, self._process.kill)
        timer.start()
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := BOOT_LINE.search(line):
                self.addr = found[1]
                break
        else:
            raise RuntimeError("the name server did not start")
        timer.cancel()

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait(BOOT_SECONDS)

    async def _register(self) -> None:
        body = RegisterBrokerBody(
            data_version=DataVersion(counter=1, timestamp=1),
            topics=tuple(TopicConfig(topic, 4, 4) for topic in self.topics),
        )
        await asyncio.gather(*(self._register_one(number, body) for number in range(self._brokers)))

    async def _register_one(self, number: int, body: RegisterBrokerBody) -> None:
        header = RegisterBrokerHeader(
            broker_name=f"broker-{number}", broker_addr=f"10.1.0.{number}:10911", cluster_name="BenchCluster",
            ha_server_addr=f"10.1.0.{number}:10912", broker_id=0, enable_acting_master=False,
        )  # fmt: skip
        request = register_broker_request(header, body)
        answer = await self._client.invoke(
            self.addr, request.code, request.ext_fields, request.body, timeout_ms=REGISTER_MS
        )
        assert answer.code == 0, answer.remark
