"""Incidents at a name server, as steps that a test writes one by one into a journal."""

from pathlib import Path
from typing import Any

from namekeeper.answers.evidence import Evidence, evidence_of
from namekeeper.history.history import History
from namekeeper.journal.contract.activity import Access, UnknownTopicMinute
from tests.differential.bodies import Broker, TopicConfig, registration
from tests.property.journalled import JournalledServer
from tests.support.java_model.values import Request
from tests.support.journal.folder import read_records, write_journal
from tests.support.journal.history import history_of

__all__ = ["MINUTE", "Story"]

MINUTE = 60_000


class Story:
    """One name server; every call happens a second after the one before."""

    def __init__(self, namesrv: str = "ns_9876", cluster_label: str = "") -> None:
        self.journal = JournalledServer(namesrv, cluster_label)
        self.connections: dict[str, int] = {}
        self.brokers: dict[str, Broker] = {}

    @property
    def now(self) -> int:
        return self.journal.ts

    def later(self, ms: int = MINUTE) -> int:
        self.journal.passed(ms)
        return self.now

    def registers(
        self, name: str = "b0", addr: str = "a0:1", topics: tuple[str, ...] = ("T",), **more: Any
    ) -> int:
        """A broker registers, over a connection of its own."""
        self.later(1_000)
        connection = self.connections.setdefault(addr, len(self.connections) + 1)
        configs = {topic: TopicConfig(perm=more.pop("perm", 6)) for topic in (*topics, "other", "more")}
        broker = Broker(
            **{
                "cluster": "c",
                "name": name,
                "broker_id": 0,
                "addr": addr,
                "conn": connection,
                "topics": configs,
                **more,
            }
        )
        before = self.brokers.get(addr)
        broker.counter = 1 if before is None else before.counter + 1
        self.brokers[addr] = broker
        return self._ask(registration(broker), connection)

    def unregisters(self, addr: str = "a0:1") -> int:
        self.later(1_000)
        return self._ask(Request(104, self.brokers[addr].fields()), self.connections[addr])

    def heard(self, addr: str = "a0:1") -> int:
        self.later(1_000)
        return self._ask(Request(904, self.brokers[addr].fields()), self.connections[addr])

    def expires(self) -> int:
        """Two minutes and a bit of silence from everybody."""
        self.later(120_001)
        self.journal.server.scan(self.journal.up_ms)
        return self.now

    def connection_breaks(self, addr: str = "a0:1") -> int:
        self.later(1_000)
        self.journal.server.close(self.connections.pop(addr), self.journal.up_ms)
        self.connections[addr] = 100 + len(self.journal.written)
        return self.now

    def wiped(self, name: str = "b0") -> int:
        self.later(1_000)
        return self._ask(Request(205, {"brokerName": name}), 99)

    def deleted(self, topic: str = "T") -> int:
        self.later(1_000)
        return self._ask(Request(216, {"topic": topic}), 99)

    def ordered(
        self, topic: str = "T", value: str | None = "b0:4", namespace: str = "ORDER_TOPIC_CONFIG"
    ) -> int:
        """The order configuration of a topic is set, or deleted."""
        self.later(1_000)
        fields = {"namespace": namespace, "key": topic}
        if value is None:
            return self._ask(Request(102, fields), 99)
        return self._ask(Request(100, {**fields, "value": value}), 99)

    def configured(self, **properties: str) -> int:
        """Properties of the name server are changed."""
        self.later(1_000)
        text = "".join(f"{name}={value}\n" for name, value in properties.items())
        return self._ask(Request(318, body=text.encode()), 99)

    def asked_in_vain(self, topic: str = "T", count: int = 3, language: str = "JAVA") -> int:
        self.later(1_000)
        minute = self.now // MINUTE * MINUTE
        self.journal.write(
            UnknownTopicMinute(minute=minute, topic=topic, language=language, client_version=1, count=count)
        )
        return self.now

    def refused(self, code: int = 103, *about: str, rule: str = "", count: int = 1, **more: Any) -> int:
        """Access rules refuse a request."""
        self.later(1_000)
        record = Access(code=code, rule=rule, about=list(about), count=count, **{"mode": "enforce", **more})
        record.peer = "10.9.9.9:5000" if count == 1 else ""
        self.journal.write(record)
        return self.now

    def stops(self) -> int:
        self.later(1_000)
        self.journal.stop()
        return self.now

    def restarts(self, down_ms: int = 5_000) -> int:
        """Stopped, and started a while later; connections are new ones."""
        self.stops()
        self.later(down_ms)
        self.journal.start()
        self.connections = {addr: connection + 100 for addr, connection in self.connections.items()}
        return self.now

    def restarts_with_its_routes(self, down_ms: int = 5_000) -> int:
        """The same, and what was there is restored."""
        before = self.journal.server.state.tables
        began = self.restarts(down_ms)
        self.journal.server.restore(before, down_ms, self.journal.up_ms)
        return began

    def crashes(self, keep: int = 10_000) -> int:
        self.later(1_000)
        self.journal.crash(keep)
        self.later(1_000)
        self.journal.start()
        self.connections = {addr: connection + 100 for addr, connection in self.connections.items()}
        return self.now

    def is_killed(self, silent_ms: int, down_ms: int) -> int:
        """Killed so long after its last record, and started a while later; returns when it ran last."""
        self.journal.crash_later(silent_ms)
        killed = self.now
        self.later(down_ms)
        self.journal.start()
        self.connections = {addr: connection + 100 for addr, connection in self.connections.items()}
        return killed

    def alive(self) -> int:
        self.later(1_000)
        self.journal.alive()
        return self.now

    def evidence(self, topic: str = "T") -> Evidence:
        return evidence_of(self.history(topic, narrow=topic))

    def history(self, about: str | None = None, *, narrow: str | None = None) -> History:
        """The history of all its records, or without topic rows of other names."""
        return history_of(self.journal.namesrv, read_records(self.journal.lines(), narrow), about)

    def folder(self, path: Path, per_segment: int = 1_000) -> str:
        return str(write_journal(path, self.journal.lines(), per_segment))

    def _ask(self, request: Request, connection: int) -> int:
        self.journal.server.ask(request, connection, self.journal.up_ms)
        return self.now
