"""Name servers without sockets: a sender that answers from values and writes down what it was asked."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Self

from namekeeper.common.slices import run_slices
from namekeeper.errors import RemotingConnectError
from namekeeper.messages import bodies
from namekeeper.model.broker import BrokerData
from namekeeper.model.route import BrokerMemberGroup, ClusterInfo, TopicList, TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.model.version import DataVersion
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand

A, B, DEAD = "127.0.0.1:9876", "127.0.0.2:9876", "127.0.0.3:9876"

Fields = Mapping[str, str]


def answer(code: int = 0, body: bytes = b"", remark: str | None = None, **fields: str) -> RemotingCommand:
    return RemotingCommand(code=code, remark=remark, ext_fields=fields or None, body=body, flag=1)


def queues(name: str, nums: int = 4, perm: int = 6, flag: int = 0) -> QueueData:
    return QueueData(
        broker_name=name, perm=perm, read_queue_nums=nums, topic_sys_flag=flag, write_queue_nums=nums
    )


def broker(cluster: str, name: str, **addrs: str) -> BrokerData:
    """A broker name; `_0="host:port"` gives the address of id 0."""
    return BrokerData(cluster, name, {int(broker_id[1:]): addr for broker_id, addr in addrs.items()})


@dataclass
class FakeNamesrv:
    """One name server's content, and its answers."""

    brokers: dict[str, BrokerData] = field(default_factory=dict)
    topics: dict[str, list[QueueData]] = field(default_factory=dict)
    kv: dict[str, dict[str, str]] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    versions: dict[str, DataVersion] = field(default_factory=dict)
    refusals: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Request code -> code and remark of a refusal."""

    def clusters(self) -> dict[str, list[str]]:
        table: dict[str, list[str]] = {}
        for name, data in self.brokers.items():
            table.setdefault(data.cluster, []).append(name)
        return table

    def handle(self, code: int, fields: Fields, body: bytes) -> RemotingCommand:
        if code in self.refusals:
            return answer(self.refusals[code][0], remark=self.refusals[code][1])
        return _HANDLERS[RequestCode(code)](self, fields, body)


@dataclass
class FakeSender:
    """Several of them by address; any other address can't be reached."""

    servers: dict[str, FakeNamesrv]
    asked: list[tuple[str, int, Fields]] = field(default_factory=list)
    timeouts_ms: set[int] = field(default_factory=set)

    async def invoke(
        self,
        addr: str,
        code: int,
        ext_fields: Fields | None = None,
        body: bytes = b"",
        *,
        timeout_ms: int = 3000,
    ) -> RemotingCommand:
        self.asked.append((addr, code, ext_fields or {}))
        self.timeouts_ms.add(timeout_ms)
        if addr not in self.servers:
            raise RemotingConnectError(addr, "Connection refused")
        return self.servers[addr].handle(code, ext_fields or {}, body)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Self]:
        yield self


def typical() -> FakeNamesrv:
    """What the Java name server held while the golden texts were taken."""
    return FakeNamesrv(
        brokers={
            "broker-b": broker("DefaultCluster", "broker-b", _0="127.0.0.1:10921"),
            "broker-c": broker("Other", "broker-c", _0="127.0.0.1:10931"),
            "broker-a": broker("DefaultCluster", "broker-a", _0="127.0.0.1:10911", _1="127.0.0.1:10912"),
        },
        topics={
            "TopicTest": [queues("broker-b", 8), queues("broker-c", 8, perm=4), queues("broker-a")],
            "UnitT": [queues("broker-a", 2, flag=1)],
            "OtherT": [queues("broker-c", 8, flag=3)],
            "%RETRY%g1": [queues("broker-a", 1)],
        },
        kv={"ORDER_TOPIC_CONFIG": {"TopicTest": "broker-a:4;broker-b:4"}},
        config={"listenPort": "9876", "configStorePath": "C:\\x=y", "orderMessageEnable": "false"},
        versions={"127.0.0.1:10911": DataVersion(counter=3, state_version=0, timestamp=1_700_000_000_000)},
    )


Handler = Callable[[FakeNamesrv, Fields, bytes], RemotingCommand]


def _route(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    topic = fields["topic"]
    rows = server.topics.get(topic)
    if rows is None:
        return answer(
            ResponseCode.TOPIC_NOT_EXIST,
            remark=f"No topic route info in name server for the topic: {topic}\nSee https://x for further details.",
        )
    route = TopicRouteData([server.brokers[row.broker_name] for row in rows], list(rows))
    return answer(body=bodies.encode_topic_route(route, standard=True))


def _cluster_info(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    return answer(
        body=run_slices(
            bodies.encode_cluster_info(ClusterInfo(server.brokers, server.clusters()), standard=False)
        )
    )


def _list(select: Callable[[FakeNamesrv, Fields], list[str]]) -> Handler:
    def handler(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
        return answer(body=bodies.encode_topic_list(TopicList(select(server, fields))))

    return handler


def _system_topics(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    addr = next((addr for data in server.brokers.values() for addr in data.broker_addrs.values()), None)
    return answer(body=bodies.encode_topic_list(TopicList([*server.clusters(), *server.brokers], addr)))


def _delete_topic(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    server.topics.pop(fields["topic"], None)
    return answer()


def _register_topic(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    rows = {row.broker_name: row for row in server.topics.get(fields["topic"], [])}
    for row in bodies.decode_topic_route(body).queue_datas:
        if row.broker_name in server.brokers:
            rows[row.broker_name] = row
    server.topics[fields["topic"]] = list(rows.values())
    return answer()


def _perm(field_name: str) -> Handler:
    def handler(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
        count = sum(
            fields["brokerName"] == row.broker_name for rows in server.topics.values() for row in rows
        )
        return RemotingCommand(ext_fields={field_name: str(count)}, flag=1)

    return handler


def _put_kv(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    server.kv.setdefault(fields["namespace"], {})[fields["key"]] = fields["value"]
    return answer()


def _get_kv(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    value = server.kv.get(fields["namespace"], {}).get(fields["key"])
    return answer(value=value) if value is not None else answer(22, remark="No config item")


def _delete_kv(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    server.kv.get(fields["namespace"], {}).pop(fields["key"], None)
    return answer()


def _list_kv(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    table = server.kv.get(fields["namespace"])
    return (
        answer(22, remark="No config item") if table is None else answer(body=bodies.encode_kv_table(table))
    )


def _get_config(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    return answer(body="".join(f"{key}={value}\n" for key, value in server.config.items()).encode())


def _update_config(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    server.config["updated with"] = body.decode()
    return answer()


def _version(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    stored = server.versions.get(fields["brokerAddr"])
    if stored is None:
        return answer(changed="true")
    return answer(
        body=bodies.encode_data_version(stored),
        changed=str(body != bodies.encode_data_version(stored)).lower(),
    )


def _group(server: FakeNamesrv, fields: Fields, body: bytes) -> RemotingCommand:
    data = server.brokers.get(fields["brokerName"])
    group = BrokerMemberGroup(fields["clusterName"], fields["brokerName"], data.broker_addrs if data else {})
    return answer(
        body=bodies.encode_broker_member_group(group, standard=False), remark="not set any response code"
    )


def _with_flag(wanted: Callable[[int], bool]) -> Handler:
    return _list(
        lambda server, _: [topic for topic, rows in server.topics.items() if wanted(rows[0].topic_sys_flag)]
    )


def _of_cluster(server: FakeNamesrv, fields: Fields) -> list[str]:
    names = server.clusters().get(fields["cluster"], [])
    return [topic for topic, rows in server.topics.items() if any(row.broker_name in names for row in rows)]


_HANDLERS: dict[RequestCode, Handler] = {
    RequestCode.GET_ROUTEINFO_BY_TOPIC: _route,
    RequestCode.GET_BROKER_CLUSTER_INFO: _cluster_info,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: _list(lambda server, _: list(server.topics)),
    RequestCode.GET_TOPICS_BY_CLUSTER: _list(_of_cluster),
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: _system_topics,
    RequestCode.GET_UNIT_TOPIC_LIST: _with_flag(lambda flag: bool(flag & 1)),
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: _with_flag(lambda flag: bool(flag & 2)),
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: _with_flag(lambda flag: flag & 3 == 2),
    RequestCode.DELETE_TOPIC_IN_NAMESRV: _delete_topic,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: _register_topic,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: _perm("wipeTopicCount"),
    RequestCode.ADD_WRITE_PERM_OF_BROKER: _perm("addTopicCount"),
    RequestCode.PUT_KV_CONFIG: _put_kv,
    RequestCode.GET_KV_CONFIG: _get_kv,
    RequestCode.DELETE_KV_CONFIG: _delete_kv,
    RequestCode.GET_KVLIST_BY_NAMESPACE: _list_kv,
    RequestCode.GET_NAMESRV_CONFIG: _get_config,
    RequestCode.UPDATE_NAMESRV_CONFIG: _update_config,
    RequestCode.QUERY_DATA_VERSION: _version,
    RequestCode.GET_BROKER_MEMBER_GROUP: _group,
}
