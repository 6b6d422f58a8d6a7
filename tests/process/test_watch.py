"""Watching routes in real processes: over restarts and cuts, by thousands, and who still holds an old route."""

import contextlib
import http.client
import itertools
import json
import resource
import socket
import struct
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from namekeeper.broker.payload import register_broker_request
from namekeeper.messages.register_broker_body import RegisterBrokerBody
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.codec import encode_command
from tests.process.running import NameServerProcess, environment, holding
from tests.support.documents.commands import Typist
from tests.support.server.builders import header
from tests.support.system.processes import eventually, free_port
from tests.support.system.waiting import TIME_UNIT
from tests.support.wire.ask import ask
from tests.unit.app.parts import frame

TOPIC, LOOK_UP = "watched", 105
PATIENCE = 30 * TIME_UNIT
BOOTS = 3
CHANGES = 5
"""In each boot."""

Event = tuple[str, tuple[int, int], dict[str, Any]]
"""Kind, revision, data."""


def change(number: int) -> bytes:
    """A registration that gives the topic other queues than the one before."""
    topics = (TopicConfig(TOPIC, read_queue_nums=number), TopicConfig("other"))
    version = DataVersion(counter=number, timestamp=1_700_000_000_000 + number)
    return encode_command(register_broker_request(header(), RegisterBrokerBody(version, topics)))


def answered(connection: socket.socket, request: bytes) -> None:
    """Send a request and wait for the answer."""
    connection.sendall(request)
    (length,) = struct.unpack(">I", exactly(connection, 4))
    exactly(connection, length)


def exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        assert more, "closed"
        data += more
    return data


class Watcher:
    """A stream of server-sent events that goes on where it was, as a browser does; it cuts itself off, too."""

    def __init__(self, port: int) -> None:
        self.events: list[Event] = []
        """Each with an id."""
        self._port = port
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        for most in itertools.cycle((1, 2, 3)):  # 1: right after its first event
            if self._is_over.wait(0.02):
                return
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._follow(most)

    def _follow(self, most: int) -> None:
        headers = {"Accept": "text/event-stream"}
        if self.events:
            headers["Last-Event-ID"] = "{}-{}".format(*self.events[-1][1])
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", f"/watch?topic={TOPIC}", headers=headers)
            response = connection.getresponse()
            fields: dict[bytes, bytes] = {}
            for line in response if response.status == 200 else ():
                name, _, text = line.strip().partition(b": ")
                fields |= {name: text}
                if b"data" in fields and not name and most:
                    self._take(fields)
                    fields, most = {}, most - 1
                if not most:
                    return

    def _take(self, fields: dict[bytes, bytes]) -> None:
        if b"id" in fields:
            boot, seq = fields[b"id"].split(b"-")
            self.events.append(
                (fields[b"event"].decode(), (int(boot), int(seq)), json.loads(fields[b"data"]))
            )

    def await_registrations(self, count: int) -> None:
        registrations = "register_broker"
        eventually(lambda: len(self.causes(registrations)) >= count, within=PATIENCE, what=f"{count} changes")

    def causes(self, cause: str) -> list[Event]:
        return [event for event in self.events if event[2].get("cause") == cause]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()


def is_durable(http_port: int) -> bool:
    with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/status", timeout=PATIENCE) as answer:
        journal = json.load(answer)["journal"]
    return bool(journal and journal["durable_seq"] == journal["last_seq"] > 0)


@pytest.mark.timeout(180 * TIME_UNIT)
@pytest.mark.parametrize("end", [NameServerProcess.stop, NameServerProcess.kill])
def test_each_change_is_told_once_and_in_order_over_restarts_and_cuts(
    tmp_path: Path, end: Callable[[NameServerProcess], object]
):
    http_port = free_port()
    flags = {"listen_port": str(free_port()), "http_port": str(http_port)}
    made = 0
    with Watcher(http_port) as watcher:
        for boot in range(BOOTS):
            with NameServerProcess(tmp_path, **flags) as server:
                server.started()
                eventually(lambda: watcher.events, within=PATIENCE, what="the first event")
                with holding(server.address) as broker:
                    for _ in range(CHANGES):
                        made += 1
                        answered(broker, change(made))
                    if boot == BOOTS - 1:
                        watcher.await_registrations(made)
                    eventually(lambda: is_durable(http_port), within=PATIENCE, what="all records on disk")
                    end(server)
    revisions = [revision for _, revision, _ in watcher.events]
    assert revisions == sorted(set(revisions))
    assert {kind for kind, _, _ in watcher.events} == {"ready", "change"}
    assert len(watcher.causes("register_broker")) == made
    assert len(watcher.causes("started")) == BOOTS - 1


@contextlib.contextmanager
def streams(http_port: int, count: int) -> Iterator[list[socket.socket]]:
    """Watchers of the topic, each told that it watches."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    request = (
        f"GET /watch?topic={TOPIC} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode()
    )
    try:
        with contextlib.ExitStack() as opened:
            found = []
            for _ in range(count):
                stream = socket.create_connection(("127.0.0.1", http_port), PATIENCE)
                found.append(opened.enter_context(stream))
                stream.sendall(request)
                await_text(stream, b"event: ready")
            yield found
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def await_text(stream: socket.socket, text: bytes) -> None:
    told = b""
    while text not in told:
        more = stream.recv(4_096)
        assert more, told
        told += more


@pytest.mark.timeout(300 * TIME_UNIT)
@pytest.mark.parametrize("count", [400, pytest.param(2_000, marks=pytest.mark.long)])
def test_many_watch_while_look_ups_go_on_and_half_of_them_never_read(tmp_path: Path, count: int):
    http_port = free_port()
    with (
        NameServerProcess(tmp_path, http_port=str(http_port), http_watchers_limit=str(count)) as server,
        holding(server.started().address) as broker,
    ):
        answered(broker, change(1))
        eventually(lambda: is_durable(http_port), within=PATIENCE, what="the revision")
        with streams(http_port, count) as watching:
            refused = http.client.HTTPConnection("127.0.0.1", http_port, timeout=PATIENCE)
            refused.request("GET", f"/watch?topic={TOPIC}")
            answer = refused.getresponse()
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            refused.close()
            for number in range(2, 2 + CHANGES):
                answered(broker, change(number))
                assert server.ask(LOOK_UP, topic=TOPIC).code == 0
            for stream in watching[::2]:
                await_text(stream, b'"cause":"register_broker"')
            assert server.stop() == 0


@pytest.mark.timeout(120 * TIME_UNIT)
def test_name_server_by_name_server_it_is_said_who_has_asked_since_a_change(tmp_path: Path):
    asks = frame(LOOK_UP, topic=TOPIC)
    with contextlib.ExitStack() as opened:
        ports, addresses, brokers = [], [], []
        for name in ("a", "b"):
            ports.append(free_port())
            server = opened.enter_context(
                NameServerProcess(tmp_path / name, http_port=str(ports[-1]), remember_lookups="true")
            )
            addresses.append(server.started().address)
            brokers.append(opened.enter_context(holding(addresses[-1])))
            answered(brokers[-1], change(1))
            eventually(lambda: is_durable(ports[-1]), within=PATIENCE, what="its pages")
        clients = [opened.enter_context(holding(address)) for address in (*addresses, addresses[0])]
        for client in clients:
            answered(client, asks)
        assert who_knows(tmp_path, ports)[0] == 0
        answered(brokers[0], change(2))
        answered(clients[2], asks)
        status, told = who_knows(tmp_path, ports)
        old, new = ("{}:{}".format(*clients[index].getsockname()) for index in (0, 2))
        assert status == 1
        assert [(each["since"], each["before"]) for each in told] == [
            ([new], [old]),
            (["{}:{}".format(*clients[1].getsockname())], []),
        ]
        answered(clients[0], asks)
        assert who_knows(tmp_path, ports)[0] == 0
        assert ask(addresses[0], LOOK_UP, topic=TOPIC).json()["queueDatas"][0]["readQueueNums"] == 2


def who_knows(folder: Path, http_ports: list[int]) -> tuple[int, list[dict[str, Any]]]:
    """Its exit status, and what each name server says."""
    addrs = ";".join(f"127.0.0.1:{port}" for port in http_ports)
    done = Typist(environment(folder), folder, {}).types_in_process(
        f"namekeeper who-knows {TOPIC} --http '{addrs}' --json"
    )
    return done.returncode, list(json.loads(done.stdout).values())
