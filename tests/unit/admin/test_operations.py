import pytest

from namekeeper.admin import operations
from namekeeper.admin.operations import Namesrv
from namekeeper.admin.views import DataVersionAnswer, UnitTopics
from namekeeper.errors import RemotingConnectError, RemotingError, ResponseError
from namekeeper.messages.registration import QueryDataVersionRequestHeader
from namekeeper.model.version import DataVersion
from namekeeper.wire.command import RemotingCommand
from tests.unit.admin.fake_namesrv import DEAD, A, FakeNamesrv, FakeSender, broker, queues, typical

VERSION = DataVersion(counter=3, state_version=0, timestamp=1_700_000_000_000)


@pytest.fixture
def server() -> FakeNamesrv:
    return typical()


@pytest.fixture
def namesrv(server: FakeNamesrv) -> Namesrv:
    return Namesrv(A, FakeSender({A: server}), timeout_ms=1234)


async def test_a_route_comes_as_a_value(namesrv: Namesrv) -> None:
    route = await operations.topic_route(namesrv, "UnitT")

    assert route.queue_datas == [queues("broker-a", 2, flag=1)]
    assert route.broker_datas == [
        broker("DefaultCluster", "broker-a", _0="127.0.0.1:10911", _1="127.0.0.1:10912")
    ]


async def test_every_request_waits_as_long_as_it_was_told(namesrv: Namesrv) -> None:
    await operations.cluster_info(namesrv)

    assert namesrv.sender.timeouts_ms == {1234}


async def test_a_refusal_names_the_server_the_code_and_the_remark(namesrv: Namesrv) -> None:
    with pytest.raises(ResponseError) as raised:
        await operations.topic_route(namesrv, "nope")

    assert (raised.value.addr, raised.value.code) == (A, 17)
    assert "for the topic: nope" in (raised.value.remark or "")


async def test_a_server_that_cant_be_reached_raises_what_the_invoker_raises(namesrv: Namesrv) -> None:
    with pytest.raises(RemotingConnectError):
        await operations.all_topics(Namesrv(DEAD, namesrv.sender))


async def test_an_answer_that_cant_be_read_is_an_error_of_that_server() -> None:
    class Garbage:
        async def invoke(self, addr, code, ext_fields=None, body=b"", *, timeout_ms=3000):
            return RemotingCommand(body=b"<html>")

    for asked in (
        operations.all_topics(Namesrv(A, Garbage())),
        operations.wipe_write_perm(Namesrv(A, Garbage()), "b"),
    ):
        with pytest.raises(RemotingError, match=f"{A}: its answer can't be read"):
            await asked


async def test_cluster_info_holds_brokers_and_clusters(namesrv: Namesrv, server: FakeNamesrv) -> None:
    info = await operations.cluster_info(namesrv)

    assert info.broker_addr_table == server.brokers
    assert info.cluster_addr_table == {"DefaultCluster": ["broker-a", "broker-b"], "Other": ["broker-c"]}


async def test_topic_lists(namesrv: Namesrv) -> None:
    assert set((await operations.all_topics(namesrv)).topic_list) == {
        "TopicTest",
        "UnitT",
        "OtherT",
        "%RETRY%g1",
    }
    assert set((await operations.topics_by_cluster(namesrv, "Other")).topic_list) == {"TopicTest", "OtherT"}
    assert (await operations.topics_by_cluster(namesrv, "nope")).topic_list == []
    system = await operations.system_topics(namesrv)
    assert set(system.topic_list) == {"DefaultCluster", "Other", "broker-a", "broker-b", "broker-c"}
    assert system.broker_addr == "127.0.0.1:10921"


@pytest.mark.parametrize(
    ("which", "topics"),
    [
        (UnitTopics.UNIT, {"UnitT", "OtherT"}),
        (UnitTopics.HAS_UNIT_SUB, {"OtherT"}),
        (UnitTopics.HAS_UNIT_SUB_UNUNIT, set()),
    ],
)
async def test_the_three_unit_lists(namesrv: Namesrv, which: UnitTopics, topics: set[str]) -> None:
    assert set((await operations.unit_topics(namesrv, which)).topic_list) == topics


async def test_a_topic_is_deleted_in_a_cluster_or_everywhere(namesrv: Namesrv) -> None:
    await operations.delete_topic(namesrv, "UnitT", "DefaultCluster")
    await operations.delete_topic(namesrv, "OtherT")

    assert [fields for _, _, fields in namesrv.sender.asked] == [
        {"topic": "UnitT", "clusterName": "DefaultCluster"},
        {"topic": "OtherT"},
    ]


async def test_write_permissions_say_how_many_topics_they_touch(namesrv: Namesrv) -> None:
    assert await operations.wipe_write_perm(namesrv, "broker-a") == 3
    assert await operations.add_write_perm(namesrv, "broker-c") == 2
    assert await operations.add_write_perm(namesrv, "nope") == 0


async def test_kv_values_are_put_read_listed_and_deleted(namesrv: Namesrv) -> None:
    await operations.put_kv_config(namesrv, "ns", "k", "v")

    assert await operations.get_kv_config(namesrv, "ns", "k") == "v"
    assert await operations.kv_list(namesrv, "ns") == {"k": "v"}
    await operations.delete_kv_config(namesrv, "ns", "k")
    assert await operations.get_kv_config(namesrv, "ns", "k") is None
    assert await operations.kv_list(namesrv, "ns") == {}
    assert await operations.kv_list(namesrv, "nope") is None


async def test_an_order_conf_is_a_kv_value(namesrv: Namesrv, server: FakeNamesrv) -> None:
    await operations.put_order_conf(namesrv, "T", "broker-a:1")

    assert await operations.get_order_conf(namesrv, "T") == "broker-a:1"
    assert server.kv["ORDER_TOPIC_CONFIG"]["T"] == "broker-a:1"
    await operations.delete_order_conf(namesrv, "T")
    assert await operations.get_order_conf(namesrv, "T") is None


async def test_configuration_is_read_as_it_is_written_unescaped(
    namesrv: Namesrv, server: FakeNamesrv
) -> None:
    assert await operations.get_namesrv_config(namesrv) == server.config


async def test_configuration_is_sent_so_that_any_value_arrives(namesrv: Namesrv, server: FakeNamesrv) -> None:
    await operations.update_namesrv_config(namesrv, {"a": " \\é"})

    assert server.config["updated with"] == "a=\\ \\\\\\u00E9\n"


async def test_a_data_version_is_compared_with_the_stored_one(namesrv: Namesrv) -> None:
    known = QueryDataVersionRequestHeader(
        broker_name="broker-a", broker_addr="127.0.0.1:10911", cluster_name="DefaultCluster", broker_id=0
    )
    unknown = QueryDataVersionRequestHeader(
        broker_name="b", broker_addr="1.1.1.1:1", cluster_name="DefaultCluster", broker_id=0
    )

    assert await operations.query_data_version(namesrv, known, VERSION) == DataVersionAnswer(False, VERSION)
    assert await operations.query_data_version(namesrv, known) == DataVersionAnswer(True, VERSION)
    assert await operations.query_data_version(namesrv, unknown) == DataVersionAnswer(True, None)


async def test_a_member_group_counts_although_java_leaves_a_remark(namesrv: Namesrv) -> None:
    group = await operations.broker_member_group(namesrv, "DefaultCluster", "broker-a")

    assert group.broker_addrs == {0: "127.0.0.1:10911", 1: "127.0.0.1:10912"}
