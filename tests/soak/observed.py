"""A fleet whose name servers are made to disagree: brokers that lose one of them, changes at one of them alone."""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Self

from namekeeper.drift.disagreement import BrokerSubject, KvSubject, Subject, TopicSubject
from namekeeper.drift.lacking import DriftCause
from namekeeper.drift.witness import BrokerId
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.model.topic import TopicConfig
from namekeeper.wire.codes import RequestCode
from tests.attacks.peers import Wire, registration
from tests.soak.drifts import Between, MadeDrift
from tests.support.wire.ask import ask

__all__ = ["DisagreeingFleet"]

CLUSTER = "SoakCluster"
LANES, BROKERS = 2, 4
"""Drifts at a time, and brokers; a lane makes drifts of its own brokers."""
TOPICS, OTHERS = 10, 20
"""Topics of a broker, and names of those that come and go."""
HEARTBEAT_SECONDS = 10.0
LASTS, CALM = (50.0, 80.0), (20.0, 40.0)
"""Shortest and longest time in seconds of a drift, and between two."""
GLITCH_SECONDS = 2.0
"""How long name servers disagree without a drift: brokers register with one after the other."""


class DisagreeingFleet:
    """Brokers, and the drifts that they and an operator make until they are stopped; a context manager.

    Args:
        addresses: of the name servers, by id.
        seed: the kinds, brokers and durations follow from it.
    """

    def __init__(self, addresses: Mapping[str, str], seed: int) -> None:
        self._addresses = addresses
        self._over = threading.Event()
        self._brokers = [_Broker(number, [*addresses.values()]) for number in range(BROKERS)]
        lanes = [random.Random(f"{seed} {lane}") for lane in range(LANES)]
        self._threads = [
            threading.Thread(target=self._attempt, args=(self._make_drifts, rng, self._brokers[lane::LANES]))
            for lane, rng in enumerate(lanes)
        ]
        self._threads.append(threading.Thread(target=self._attempt, args=(self._keep_alive,)))
        self.made: list[MadeDrift] = []
        """All drifts so far."""
        self.harmless = 0
        """Changes that are no drift: at all name servers, or undone at once."""
        self.failures: list[Exception] = []
        """Why a thread ended early."""

    def __enter__(self) -> Self:
        for broker in self._brokers:
            broker.register()
        for address in self._addresses.values():  # one without an entry is not compared about its entries
            entry = {"namespace": ORDER_TOPIC_CONFIG, "key": "soak", "value": "soak-0:8"}
            _ask(address, RequestCode.PUT_KV_CONFIG, **entry)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for broker in self._brokers:
            broker.close()

    def start(self) -> None:
        """Start to make drifts."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the drifts that go on; the brokers stay."""
        self._over.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _attempt(self, work: Callable[..., None], *arguments: object) -> None:
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001 - the run fails with it
            self.failures.append(error)

    def _keep_alive(self) -> None:
        while not self._over.wait(HEARTBEAT_SECONDS):
            for broker in self._brokers:
                broker.heartbeat()

    def _make_drifts(self, rng: random.Random, brokers: Sequence["_Broker"]) -> None:
        drifts = [self._cut, self._lonely_topic, self._other_queues, self._wipe, self._reorder]
        while True:
            rng.shuffle(drifts)
            for drift in drifts:
                if self._over.wait(rng.uniform(*CALM)):
                    return
                self._change_harmlessly(rng, rng.choice(brokers))
                if self._over.wait(rng.uniform(*CALM)):
                    return
                namesrv = rng.choice(sorted(self._addresses))
                with drift(rng, rng.choice(brokers), namesrv):
                    self._over.wait(rng.uniform(*LASTS))

    def _change_harmlessly(self, rng: random.Random, broker: "_Broker") -> None:
        addresses = [*self._addresses.values()]
        kind = rng.randrange(3)
        if kind == 0:  # a new topic, everywhere, which is deleted
            topic = broker.other_topic(rng)
            broker.register(more=topic)
            self._over.wait(GLITCH_SECONDS)
            broker.register()
            for address in addresses:
                _ask(address, RequestCode.DELETE_TOPIC_IN_NAMESRV, topic=topic.topic_name)
        elif kind == 1:  # a restart
            broker.leave(addresses)
            self._over.wait(GLITCH_SECONDS)
            broker.register()
        else:  # a connection that is lost and made again
            broker.leave([rng.choice(addresses)])
            self._over.wait(GLITCH_SECONDS)
            broker.register()
        self.harmless += 1

    # Each drift is made at one name server, and undone at the end.

    def _cut(
        self, _: random.Random, broker: "_Broker", namesrv: str
    ) -> contextlib.AbstractContextManager[None]:
        at = [self._addresses[namesrv]]
        subject = BrokerSubject(broker.id)
        return self._made(
            DriftCause.BROKER_MISSING, subject, [namesrv], lambda: broker.leave(at), broker.register
        )

    def _lonely_topic(
        self, rng: random.Random, broker: "_Broker", namesrv: str
    ) -> contextlib.AbstractContextManager[None]:
        at = self._addresses[namesrv]
        topic = broker.other_topic(rng)

        def delete() -> None:
            broker.register([at])
            _ask(at, RequestCode.DELETE_TOPIC_IN_NAMESRV, topic=topic.topic_name)

        others = [each for each in self._addresses if each != namesrv]
        subject = TopicSubject(topic.topic_name, broker.id.broker_name)
        return self._made(
            DriftCause.TOPIC_MISSING, subject, others, lambda: broker.register([at], more=topic), delete
        )

    def _other_queues(
        self, rng: random.Random, broker: "_Broker", namesrv: str
    ) -> contextlib.AbstractContextManager[None]:
        at = [self._addresses[namesrv]]
        name = rng.choice(broker.topics)
        changed = TopicConfig(name, read_queue_nums=4, write_queue_nums=4)
        subject = TopicSubject(name, broker.id.broker_name)
        return self._made(
            DriftCause.QUEUES_DIFFER, subject, [*self._addresses],
            lambda: broker.register(at, more=changed), lambda: broker.register(at),
        )  # fmt: skip

    def _wipe(
        self, _: random.Random, broker: "_Broker", namesrv: str
    ) -> contextlib.AbstractContextManager[None]:
        at, name = self._addresses[namesrv], broker.id.broker_name
        codes = RequestCode.WIPE_WRITE_PERM_OF_BROKER, RequestCode.ADD_WRITE_PERM_OF_BROKER
        wipe, give_back = (partial(_ask, at, code, brokerName=name) for code in codes)
        subjects = [TopicSubject(topic, name) for topic in broker.topics]
        return self._made(DriftCause.PERMISSION_DIFFERS, subjects, [namesrv], wipe, give_back)

    def _reorder(
        self, _: random.Random, broker: "_Broker", namesrv: str
    ) -> contextlib.AbstractContextManager[None]:
        at, topic = self._addresses[namesrv], broker.topics[0]
        entry = {"namespace": ORDER_TOPIC_CONFIG, "key": topic}
        subject = KvSubject(ORDER_TOPIC_CONFIG, topic)
        return self._made(
            DriftCause.ORDER_DIFFERS, subject, [each for each in self._addresses if each != namesrv],
            lambda: _ask(at, RequestCode.PUT_KV_CONFIG, **entry, value=f"{broker.id.broker_name}:8"),
            lambda: _ask(at, RequestCode.DELETE_KV_CONFIG, **entry),
        )  # fmt: skip

    @contextlib.contextmanager
    def _made(
        self, cause: DriftCause, about: Subject | Sequence[Subject], lacking: Sequence[str],
        make: Callable[[], object], undo: Callable[[], object],
    ) -> Iterator[None]:  # fmt: skip
        """Make a drift of each subject, and undo it."""
        start = _timed(make)
        subjects = [about] if isinstance(about, Subject) else about
        drifts = [MadeDrift(cause, each, frozenset(lacking), start) for each in subjects]
        self.made += drifts
        yield
        end = _timed(undo)
        for drift in drifts:
            drift.end = end


class _Broker:
    """A broker with a connection to each name server that it has not left.

    Args:
        number: makes its name and address.
        addresses: of the name servers.
    """

    def __init__(self, number: int, addresses: Sequence[str]) -> None:
        name = f"soak-{number}"
        self.id = BrokerId(CLUSTER, name, 0, f"10.9.0.{number}:10911")
        self.topics = [f"{name}-topic-{each}" for each in range(TOPICS)]
        self._lock = threading.Lock()
        self._wires: dict[str, Wire] = {}
        self._frames = dict.fromkeys(addresses, b"")
        """Address -> the last registration there."""
        self._counter = 0

    def other_topic(self, rng: random.Random) -> TopicConfig:
        """A topic that it does not have."""
        return TopicConfig(f"{self.id.broker_name}-other-{rng.randrange(OTHERS)}")

    def register(self, at: Sequence[str] = (), more: TopicConfig | None = None) -> None:
        """Register with changed topics, at all name servers or at some, with one topic more or otherwise."""
        rows = {name: TopicConfig(name) for name in self.topics}
        if more is not None:
            rows[more.topic_name] = more
        with self._lock:
            self._counter += 1
            data = registration(
                self.id.broker_name,
                [*rows.values()],
                cluster=CLUSTER,
                addr=self.id.addr,
                counter=self._counter,
            )
            for address in at or self._frames:
                if address not in self._wires:
                    self._wires[address] = Wire(int(address.rpartition(":")[2]))
                self._frames[address] = data
                self._wires[address].ask(data)

    def heartbeat(self) -> None:
        """Register again where it is registered."""
        with self._lock:
            for address, wire in self._wires.items():
                wire.ask(self._frames[address])

    def leave(self, addresses: Sequence[str]) -> None:
        """Close the connections to name servers, and wait until they have noticed."""
        with self._lock:
            for address in addresses:
                self._wires.pop(address).socket.close()
        for address in addresses:
            while self.id.broker_name in _ask(address, RequestCode.GET_BROKER_CLUSTER_INFO):
                time.sleep(0.02)

    def close(self) -> None:
        """Close all connections."""
        for wire in self._wires.values():
            wire.socket.close()


def _ask(address: str, code: RequestCode, **fields: str) -> str:
    """The body of a good answer."""
    answer = ask(address, code, **fields)  # type: ignore[arg-type] # they are strings
    assert answer.code == 0, answer
    return answer.body.decode()


def _timed(do: Callable[[], object]) -> Between:
    before = time.time_ns() // 1_000_000
    do()
    return Between(before, time.time_ns() // 1_000_000)
