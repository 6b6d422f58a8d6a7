"""A client's world in memory: name servers of ours behind a sender that can be broken, and time by hand."""

import asyncio
from collections.abc import Callable, Mapping
from random import Random

from namekeeper.client.client_config import ClientConfig
from namekeeper.client.instance import MQClientInstance
from namekeeper.client.polling import Timing
from namekeeper.errors import RemotingClosedError, RemotingConnectError, RemotingTimeoutError
from namekeeper.messages.bodies import encode_topic_route
from namekeeper.messages.register_broker_body import RegisterBrokerBody, encode_registration_body
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import TopicRouteData
from namekeeper.model.topic import QueueData, TopicConfig
from namekeeper.model.version import DataVersion
from namekeeper.wire.command import RemotingCommand, Response
from tests.support.server.in_memory import InMemoryNameServer
from tests.support.system.fake_time import FakeTime

__all__ = ["A", "B", "C", "World", "broker", "queues", "route", "route_body"]

A, B, C = "10.0.9.1:9876", "10.0.9.2:9876", "10.0.9.3:9876"


def broker(name: str = "broker-a", addrs: Mapping[int, str] | None = None, cluster: str = "C") -> BrokerData:
    return BrokerData(cluster, name, {0: f"{name}:10911"} if addrs is None else dict(addrs))


def queues(name: str = "broker-a", count: int = 4, perm: int = 6) -> QueueData:
    return QueueData(name, perm, count, 0, count)


def route(*names: str, count: int = 4, perm: int = 6) -> TopicRouteData:
    """The route of a topic that these brokers have, each with a master and `count` queues."""
    names = names or ("broker-a",)
    return TopicRouteData([broker(name) for name in names], [queues(name, count, perm) for name in names])


def route_body(*names: str, count: int = 4, perm: int = 6) -> bytes:
    return encode_topic_route(route(*names, count=count, perm=perm), standard=True)


Answer = Callable[[RemotingCommand], Response]


class World:
    """Name servers by address; an `RequestSender` for one client, with what was asked."""

    def __init__(self, *addrs: str) -> None:
        self.time = FakeTime()
        self.servers: dict[str, InMemoryNameServer | Answer] = {}
        for addr in addrs or (A,):
            self.restart(addr)
        self.dead: set[str] = set()
        """Refuse connections."""
        self.silent: set[str] = set()
        """Take requests and never answer."""
        self.asked: list[tuple[str, str]] = []
        """(address, topic) of each request that reached a name server."""
        self.released: list[str] = []
        self.held: asyncio.Event | None = None
        """Answers wait for it."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.is_closed = False

    # The name servers' side.

    def restart(self, addr: str) -> None:
        """A name server begins anew, and empty."""
        self.servers[addr] = InMemoryNameServer()

    def register(
        self, *topics: str, at: str | None = None, name: str = "broker-a", version: int = 1, count: int = 4, perm: int = 6
    ) -> None:  # fmt: skip
        """A broker registers these topics and TBW102, with one name server or all."""
        configs = [TopicConfig(topic, count, count, perm) for topic in (*topics, "TBW102", "SELF_TEST_TOPIC")]
        body = encode_registration_body(
            RegisterBrokerBody(
                data_version=DataVersion(counter=version, timestamp=version), topics=tuple(configs)
            )
        )
        addr = f"{name}:10911"
        for server in [self.servers[at]] if at else list(self.servers.values()):
            assert isinstance(server, InMemoryNameServer)
            answer = server.register(
                body,
                brokerName=name,
                brokerAddr=addr,
                haServerAddr=f"{name}:10912",
                enableActingMaster="false",
            )
            assert answer.code == 0, answer.remark

    def delete(self, topic: str) -> None:
        """The topic is deleted on every name server."""
        for server in self.servers.values():
            assert isinstance(server, InMemoryNameServer)
            assert server.ask(216, {"topic": topic}).code == 0

    # The client's side.

    async def invoke(
        self, addr: str, code: int, ext_fields: Mapping[str, str] | None = None, body: bytes = b"", *, timeout_ms: int = 3_000
    ) -> RemotingCommand:  # fmt: skip
        if self.is_closed:
            raise RemotingClosedError(addr, "this client is closed")
        if addr in self.dead or addr not in self.servers:
            raise RemotingConnectError(addr, "refused")
        self.asked.append((addr, (ext_fields or {}).get("topic", "")))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                if addr in self.silent:
                    await asyncio.Event().wait()
                if self.held is not None:
                    await self.held.wait()
                await asyncio.sleep(0)
        except TimeoutError:
            raise RemotingTimeoutError(addr, f"no answer within {timeout_ms} ms") from None
        finally:
            self.in_flight -= 1
        server = self.servers[addr]
        if isinstance(server, InMemoryNameServer):
            response = server.ask(code, dict(ext_fields or {}), body)
        else:
            response = server(RemotingCommand(code=code, ext_fields=dict(ext_fields or {})))
        return RemotingCommand(code=response.code, remark=response.remark, flag=1, body=response.body)

    def release(self, addr: str) -> None:
        self.released.append(addr)

    async def close(self) -> None:
        self.is_closed = True

    def client(self, namesrv_addr: str | None = None, **settings: object) -> MQClientInstance:
        """A client of all these name servers; look-ups have 60 ms, so that silence costs no time."""
        config = ClientConfig(
            namesrv_addr=";".join(self.servers) if namesrv_addr is None else namesrv_addr,
            **{"mq_client_api_timeout_ms": 60, **settings},  # type: ignore[arg-type]
        )
        timing = Timing(clock=self.time, sleep=self.time.sleep, rng=Random(1))
        return MQClientInstance(config, remoting_client=self, timing=timing, environ={})  # type: ignore[arg-type]
