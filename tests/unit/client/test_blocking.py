"""The client in plain synchronous code: threads, forks, spawned processes."""

import asyncio
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from namekeeper.client.blocking import BlockingClient
from namekeeper.client.client_config import ClientConfig
from namekeeper.client.queues.message_queue import MessageQueue
from namekeeper.client.routes.events import RouteAppeared, RouteChanged
from namekeeper.errors import (
    ConfigError,
    NoNameServerError,
    NoRouteError,
    RemotingClosedError,
    RemotingTimeoutError,
)
from namekeeper.remoting.listening import ListenOptions
from namekeeper.remoting.loop_thread import loop_thread
from namekeeper.remoting.server import RemotingServer
from namekeeper.wire.command import RemotingCommand, Response
from tests.support.system.waiting import PATIENCE
from tests.unit.client.world import route, route_body

ROOT = Path(__file__).resolve().parents[3]


class Served:
    """A name server in the loop thread; it knows topic T."""

    def __init__(self) -> None:
        self.body = route_body()
        self.asked = 0
        self.server = RemotingServer(self._answer, listen=ListenOptions("127.0.0.1", 0))

    def _answer(self, request: RemotingCommand, _: object) -> Response:
        self.asked += 1
        if (request.ext_fields or {}).get("topic") in ("T", "%RETRY%G"):
            return Response(body=self.body)
        return Response(17, "none")

    @property
    def config(self) -> ClientConfig:
        return ClientConfig(namesrv_addr=str(self.server.addresses[0]), poll_name_server_interval_ms=100)


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    thread = loop_thread()
    thread.run(served.server.__aenter__(), timeout_seconds=10 * PATIENCE)
    yield served
    thread.run(served.server.__aexit__(None, None, None), timeout_seconds=10 * PATIENCE)
    thread.stop()


@pytest.fixture
def client(served: Served) -> Iterator[BlockingClient]:
    with BlockingClient(served.config) as client:
        yield client


def queues_of(topic: str, count: int = 4) -> tuple[MessageQueue, ...]:
    return tuple(MessageQueue(topic, "broker-a", n) for n in range(count))


def test_what_can_be_asked_for(client):
    assert client.topic_route("T") == route()
    assert client.fetch_publish_message_queues("T") == queues_of("T")
    assert client.fetch_subscribe_message_queues("T") == queues_of("T")
    assert client.find_broker_address(queues_of("T")[0]) == "broker-a:10911"
    assert client.knowledge("T").has_route
    assert client.status().topics == 1


def test_errors_are_those_of_the_client(client):
    with pytest.raises(NoRouteError, match="No route info of this topic: Unknown"):
        client.topic_route("Unknown")


def test_a_producer_asks_only_for_what_it_does_not_know(client, served):
    producer = client.producer("P")
    assert producer.publish_message_queues("T") == queues_of("T")
    with pytest.raises(ConfigError, match="registered already"):
        client.producer("P")
    asked = served.asked
    for _ in range(1_000):
        producer.publish_message_queues("T")
    assert served.asked - asked < 100  # the polls
    producer.unregister()
    client.producer("P").unregister()


def test_a_consumer_s_queues_are_kept_fresh(client, served):
    consumer = client.push_consumer("G")
    assert consumer.subscribe("T") == queues_of("T")
    with client.events("T") as events:
        served.body = route_body(count=2)
        assert isinstance(events.next(timeout_seconds=10 * PATIENCE), RouteChanged)
    assert consumer.subscribe_message_queues("T") == queues_of("T", 2)
    consumer.unsubscribe("T")
    assert consumer.subscribe_message_queues("T") == ()
    consumer.unregister()
    client.pull_consumer("G")


def test_events_can_be_waited_for_and_end_with_the_client(client):
    with client.events("T") as events, client.events("Unknown") as silent:
        assert isinstance(next(events), RouteAppeared)
        assert silent.next(timeout_seconds=0) is None
        rest: list[object] = []
        reader = threading.Thread(target=lambda: rest.extend(silent))
        reader.start()
        client.close()
        reader.join(10 * PATIENCE)
        assert not reader.is_alive()
        assert rest == []


def test_a_stream_of_the_parent_is_refused_in_a_forked_child(client, monkeypatch):
    events = client.events("T")
    with monkeypatch.context() as child:
        child.setattr("os.getpid", lambda: -1)
        with pytest.raises(RemotingClosedError, match="open one here"):
            next(events)
        with pytest.raises(RemotingClosedError, match="open one here"):
            events.next(timeout_seconds=0)
        events.close()
    assert isinstance(next(events), RouteAppeared)  # the child has not ended the stream of the parent


def overtake(monkeypatch, client, other_thread) -> None:
    """Let another thread act just before the next call of this one."""
    call = client.call

    def overtaken(operation):
        monkeypatch.setattr(client, "call", call)
        other_thread()
        return call(operation)

    monkeypatch.setattr(client, "call", overtaken)


def test_threads_register_a_group_once_after_a_fork(client, monkeypatch):
    producer, consumer = client.producer("P"), client.pull_consumer("G")
    consumer.subscribe("T")
    client.instance().unregister_producer("P")
    client.instance().unregister_consumer("G")
    producer._registered = consumer._registered = None  # in the child they belong to another instance

    overtake(monkeypatch, client, lambda: producer.publish_message_queues("T"))
    assert producer.publish_message_queues("T") == queues_of("T")
    overtake(monkeypatch, client, lambda: consumer.subscribe_message_queues("T"))
    assert consumer.subscribe("T") == queues_of("T")
    assert list(client.instance().tables.consumer_table["G"].subscription) == ["T"]


def test_many_threads_share_a_client(client, served):
    results: list[object] = []
    threads = [
        threading.Thread(target=lambda: results.append(client.fetch_publish_message_queues("T")))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10 * PATIENCE)
    assert results == [queues_of("T")] * 20
    assert len(served.server.connections) == 1


def test_it_is_pickled_as_its_configuration(client, served):
    other = pickle.loads(pickle.dumps(client))
    assert other.config == served.config
    assert other.topic_route("T") == route()  # opened by its first use
    other.close()


def test_a_closed_one_says_so(served):
    client = BlockingClient(served.config)
    client.close()
    client.close()
    with pytest.raises(RemotingClosedError, match="it is closed"):
        client.topic_route("T")
    with BlockingClient(served.config) as client:
        client.topic_route("T")
    with pytest.raises(RemotingClosedError):
        client.status()


def test_errors_of_the_settings_come_at_the_door(monkeypatch):
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(ConfigError, match="no name server"), BlockingClient():
        pass


def test_errors_can_be_sent_to_another_process(served):
    config = ClientConfig(namesrv_addr="127.0.0.1:1")
    with BlockingClient(config) as client, pytest.raises(NoNameServerError) as caught:
        client.topic_route("T")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (NoNameServerError, str(caught.value))
    assert str(again.failures["127.0.0.1:1"]) == str(caught.value.failures["127.0.0.1:1"])


def test_a_thread_that_gives_no_result_is_an_error_in_time(client, monkeypatch):
    monkeypatch.setattr(client, "_timeout_seconds", 0.01)

    async def hang() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RemotingTimeoutError, match="background thread"):
        client.call(lambda _: hang())
    monkeypatch.undo()


SCRIPT = """
import multiprocessing, os, sys
from tests.unit.client.test_blocking import Served, queues_of
from namekeeper.client.blocking import BlockingClient
from namekeeper.remoting.loop_thread import loop_thread

def use(client):
    return len(client.fetch_publish_message_queues("T"))

def main():
    served = Served()
    loop_thread().run(served.server.__aenter__(), timeout_seconds=100)
    client = BlockingClient(served.config)
    producer, consumer = client.producer("P"), client.pull_consumer("G")
    assert producer.publish_message_queues("T") == consumer.subscribe("T") == queues_of("T")
    if sys.argv[1] == "fork":
        ready, done = os.pipe(), os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(done[1])
            os.write(ready[1], b"." if use(client) == 4 and producer.publish_message_queues("T") else b"!")
            os.write(ready[1], b"." if consumer.unsubscribe("T") is None else b"!")
            os.read(done[0], 1)
            os._exit(0)
        assert os.read(ready[0], 1) + os.read(ready[0], 1) == b".."
        assert len(served.server.connections) == 2
        client.close()  # the child lives: it must not hold this connection open
        while len(served.server.connections) != 1:
            loop_thread().run(__import__("asyncio").sleep(0.01), timeout_seconds=100)
        os.close(done[1])
        assert os.waitpid(pid, 0)[1] == 0
    else:
        with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
            assert pool.map(use, [client] * 4) == [4] * 4
        client.close()
    loop_thread().run(served.server.__aexit__(None, None, None), timeout_seconds=100)
    print("fine")

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_other_processes_have_their_own(way, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), way]
    done = subprocess.run(
        command, cwd=ROOT, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=50 * PATIENCE, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr, done.returncode) == ("fine\n", "", 0)
