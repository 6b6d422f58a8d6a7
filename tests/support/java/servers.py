"""Real Java name servers, brokers and mqadmin, of any release that the tests use.

Each peer is a context manager: entering it returns when it serves.
Leaving it kills it, because an orderly stop takes Java 3 to 10 seconds and its files go anyway.
Call `stop()` where the orderly stop is what a test is about.
"""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from tests.support.java.artifacts import FIVE, VERSIONS, available, classpath, require
from tests.support.system.processes import Process, eventually, free_port, scratch_folder
from tests.support.wire.ask import ask

__all__ = [
    "FIVE", "QUICK_JVM", "VERSIONS", "JavaBroker", "JavaNameServer", "available", "java_command", "mqadmin", "require",
    "scratch_home", "write_properties",
]  # fmt: skip

QUICK_JVM = (
    "-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Dtls.server.mode=disabled",
)  # fmt: skip
"""For tests: starts soon, needs little. A benchmark passes flags of its own.

Without TLS: by default a server of RocketMQ makes itself a certificate each time, which is two thirds of its start.
"""
_WITH_TLS = ("-Dtls.enable=true", "-Dtls.server.mode=permissive")

BOOT_SECONDS = 90
REGISTER_SECONDS = 60  # a 5.x broker may need 15 s by itself, and longer on a busy machine

_GET_ALL_TOPIC_CONFIG = 21
_GET_BROKER_CLUSTER_INFO = 106
_OPENED = ("--add-opens", "java.base/java.nio=ALL-UNNAMED")  # for netty 4.0 of the releases up to 4.9.0
_LOGBACK = """\
<configuration>
  <statusListener class="{package}ch.qos.logback.core.status.NopStatusListener"/>
  <appender name="file" class="{package}ch.qos.logback.core.FileAppender">
    <file>{file}</file>
    <encoder><pattern>%d{{HH:mm:ss.SSS}} %p %t - %m%n</pattern></encoder>
  </appender>
  <appender name="async" class="{package}ch.qos.logback.classic.AsyncAppender">
    <appender-ref ref="file"/>
  </appender>
  <root level="INFO"><appender-ref ref="async"/></root>
</configuration>
"""


class JavaNameServer:
    """A Java name server on a free port of 127.0.0.1 (4.x listens on every interface: it has no bindAddress).

    `tls` says to ask it over TLS whether it serves, as one that enforces TLS must be asked.
    """

    def __init__(
        self, version: str, properties: Mapping[str, object] | None = None, jvm: Sequence[str] = (), *,
        port: int | None = None, base_jvm: Sequence[str] = QUICK_JVM, tls: bool = False,
    ) -> None:  # fmt: skip
        self.version = version
        self.properties = dict(properties or {})
        self.jvm = (*base_jvm, *jvm)
        self.port = port
        self.tls = tls
        self._resources = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            self.home = opened.enter_context(scratch_home(self.version))
            self.port = self.port or free_port()
            self.address = f"127.0.0.1:{self.port}"
            file = write_properties(
                self.home / "namesrv.properties",
                {"listenPort": self.port, "bindAddress": "127.0.0.1", **self.properties},
            )
            command = java_command(
                self.version, self.home, "namesrv.NamesrvStartup", "-c", str(file), jvm=self.jvm
            )
            self._command = command
            self._start(opened)
            self._resources = opened.pop_all()
        return self

    def restart(self) -> None:
        """End it and start it again at the same port with the same files.

        It is killed: it has stored each KV entry and property when it answered, and has no other state.
        """
        self.process.kill()
        self.process.output.unlink()  # or the line of the boot before would be found in it
        self._start(self._resources)

    def _start(self, opened: contextlib.ExitStack) -> None:
        self.process = _started(f"Java name server {self.version}", self._command, self.home, opened)
        self.process.await_line("The Name Server boot success", within=BOOT_SECONDS)
        eventually(
            lambda: ask(self.address, _GET_BROKER_CLUSTER_INFO, tls=self.tls),
            within=10, what="an answer to 106",
        )  # fmt: skip

    def report(self) -> str:
        """Return the end of its output and of its log files."""
        return self.process.report()

    def stop(self) -> None:
        """Stop it in an orderly way; may be called twice."""
        self.process.stop()

    def __exit__(self, *_: object) -> None:
        self._resources.close()


class JavaBroker:
    """A small Java broker, registered with every one of its name servers when entered.

    `tls` makes it talk TLS to name servers; `home` keeps its files for a later start of the same broker.
    """

    def __init__(
        self, version: str, namesrv_addrs: Sequence[str], name: str = "broker-a", cluster: str = "DefaultCluster",
        broker_id: int = 0, properties: Mapping[str, object] | None = None, *, port: int | None = None,
        jvm: Sequence[str] = (), tls: bool = False, home: Path | None = None,
    ) -> None:  # fmt: skip
        self.version = version
        self.namesrv_addrs = tuple(namesrv_addrs)
        self.name = name
        self.cluster = cluster
        self.broker_id = broker_id
        self.properties = dict(properties or {})
        self.port = port
        self.jvm = (*QUICK_JVM, *(_WITH_TLS if tls else ()), *jvm)
        self.tls = tls
        self._given_home = home
        self._resources = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened:
            self.start(opened)
            for namesrv in self.namesrv_addrs:
                eventually(
                    partial(self._serves, namesrv),
                    within=REGISTER_SECONDS, what=f"{self.process.label} registered at {namesrv}",
                )  # fmt: skip
            self._resources = opened.pop_all()
        return self

    def start(self, opened: contextlib.ExitStack) -> None:
        """Start the process and wait until it says that it serves, registered or not."""
        if self._given_home:
            self.home = prepare_home(self._given_home, self.version)
        else:
            self.home = opened.enter_context(scratch_home(self.version))
        # It listens on listenPort, on listenPort - 2 for its VIP channel, and on the HA port.
        self.port = self.port or free_port(-2, 1)
        self.address = f"127.0.0.1:{self.port}"
        file = write_properties(self.home / "broker.properties", {**self._defaults(), **self.properties})
        command = java_command(self.version, self.home, "broker.BrokerStartup", "-c", str(file), jvm=self.jvm)
        label = f"Java broker {self.version} {self.name}:{self.broker_id} at {self.address}"
        self.process = _started(label, command, self.home, opened)
        self.process.await_line(r"The broker\[.*\] boot success", within=BOOT_SECONDS)

    def registered_at(self, namesrv: str) -> bool:
        """Say whether a name server lists this broker under its id and address."""
        info = ask(namesrv, _GET_BROKER_CLUSTER_INFO, tls=self.tls).json()
        row = (info.get("brokerAddrTable") or {}).get(self.name) or {}
        return (row.get("brokerAddrs") or {}).get(str(self.broker_id)) == self.address

    def topics(self) -> dict[str, dict[str, object]]:
        """Return the topics that the broker itself knows, with their numbers of queues and permissions."""
        topics: dict[str, dict[str, object]] = ask(self.address, _GET_ALL_TOPIC_CONFIG, tls=self.tls).json()[
            "topicConfigTable"
        ]
        return topics

    def stop(self) -> None:
        """Stop it in an orderly way: it unregisters; may be called twice."""
        self.process.stop()

    def kill(self) -> None:
        """End it as a crash would: the name server sees its connections close."""
        self.process.kill()

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def _serves(self, namesrv: str) -> bool:
        return self._alive() and self.registered_at(namesrv)

    def _alive(self) -> bool:
        self.process.await_line("boot success")
        return True

    def _defaults(self) -> dict[str, object]:
        store = self.home / "store"
        return {
            "brokerName": self.name,
            "brokerClusterName": self.cluster,
            "brokerId": self.broker_id,
            "brokerRole": "SLAVE" if self.broker_id else "ASYNC_MASTER",
            "namesrvAddr": ";".join(self.namesrv_addrs),
            "listenPort": self.port,
            "haListenPort": (self.port or 0) + 1,
            "bindAddress": "127.0.0.1",
            "brokerIP1": "127.0.0.1",
            "brokerIP2": "127.0.0.1",
            "storePathRootDir": store,
            "storePathCommitLog": store / "commitlog",
            "mappedFileSizeCommitLog": 16 * 1024 * 1024,
            "mappedFileSizeConsumeQueue": 20 * 10_000,
            "timerWheelEnable": "false",
            "transactionMetricFlushInterval": 200,  # a 5.x broker spins for its first interval, of 10 s by default
            "timerFlushIntervalMs": 600_000,  # each copies a wheel of 37 MB: every second, a third of a core
            "diskMaxUsedSpaceRatio": 95,
            "waitTimeMillsInSendQueue": 2_000,  # 200 ms is too little for a machine that runs many tests
            "slaveReadEnable": "true",
        }


def mqadmin(
    version: str, *args: str, jvm: Sequence[str] = (), timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run one sub-command of Java's mqadmin and return what it printed; its exit status says little."""
    with scratch_home(version) as home:
        command = java_command(version, home, "tools.command.MQAdminStartup", *args, jvm=(*QUICK_JVM, *jvm))
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False
        )


def java_command(
    version: str, home: Path, main: str, *args: str, jvm: Sequence[str] = QUICK_JVM, path: str | None = None
) -> list[str]:
    """Return the command line of a class of org.apache.rocketmq (or, with its own class path, of any class)."""
    return [
        "java", *jvm, *_OPENED, f"-Duser.home={home}", f"-Drocketmq.home.dir={home}",
        f"-Drmq.logback.configurationFile={home / 'conf' / 'logback.xml'}",
        "-cp", path or classpath(version), main if path else f"org.apache.rocketmq.{main}", *args,
    ]  # fmt: skip


@contextlib.contextmanager
def scratch_home(version: str) -> Iterator[Path]:
    """Give a folder to be the home of one Java process, with the logging configuration that its release wants."""
    with scratch_folder("rocketmq-") as folder:
        yield prepare_home(folder, version)


def prepare_home(home: Path, version: str) -> Path:
    """Write what a Java process of this release wants to find in its home."""
    conf = home / "conf"
    conf.mkdir(parents=True, exist_ok=True)
    (home / "logs").mkdir(exist_ok=True)
    shaded = "org.apache.rocketmq.logging." if version in FIVE else ""
    text = _LOGBACK.format(package=shaded, file=home / "logs" / "all.log")
    for name in ("logback", "logback_namesrv", "logback_broker", "logback_tools"):
        (conf / f"{name}.xml").write_text(text)
    return home


def write_properties(path: Path, values: Mapping[str, object]) -> Path:
    """Write a Java properties file."""
    path.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return path


def _started(label: str, command: Sequence[str], home: Path, opened: contextlib.ExitStack) -> Process:
    process = Process(
        label,
        command,
        output=home / "stdout.txt",
        env={"ROCKETMQ_HOME": str(home)},
        logs=home / "logs",
        cwd=home,
    )
    opened.callback(process.kill)
    return process
