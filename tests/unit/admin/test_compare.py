from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from namekeeper.admin.compare import Comparison, compare_snapshots
from namekeeper.admin.snapshot import NamesrvSnapshot, SnapshotPart
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import TopicRouteData
from namekeeper.model.version import DataVersion
from tests.unit.admin.fake_namesrv import broker, queues

BROKER_A = broker("c", "broker-a", _0="10.0.0.1:10911", _1="10.0.0.2:10911")
BROKER_B = broker("c", "broker-b", _0="10.0.0.3:10911")
T = TopicRouteData([BROKER_A, BROKER_B], [queues("broker-a"), queues("broker-b")])
U = TopicRouteData([BROKER_A], [queues("broker-a", 1)])

BASE = NamesrvSnapshot(
    addr="a:1",
    clusters={"c": frozenset({"broker-a", "broker-b"})},
    brokers={"broker-a": BROKER_A, "broker-b": BROKER_B},
    routes={"T": T, "U": U},
    cluster_topics={"c": frozenset({"T", "U"})},
    member_groups={("c", "broker-a"): BROKER_A.broker_addrs, ("c", "broker-b"): BROKER_B.broker_addrs},
    kv={"ORDER_TOPIC_CONFIG": {"T": "broker-a:4"}, "ns": None},
    data_versions={("c", "10.0.0.1:10911"): DataVersion(counter=3)},
    config={"listenPort": "9876"},
)


def against(**changes: object) -> Comparison:
    """BASE beside a server that differs from it in `changes`."""
    return compare_snapshots(BASE, replace(BASE, addr="b:1", **changes))


def found(**changes: object) -> list[tuple[str, str, str, str | None, str | None]]:
    return [
        (each.part.value, each.name, each.detail, each.a, each.b) for each in against(**changes).differences
    ]


def test_equal_snapshots_have_no_difference() -> None:
    comparison = against()

    assert comparison.differences == []
    assert (comparison.a, comparison.b) == ("a:1", "b:1")
    assert comparison.compared[SnapshotPart.TOPIC] == 8


def test_a_topic_that_one_side_lacks_is_one_difference() -> None:
    assert found(routes={"T": T}, cluster_topics={"c": frozenset({"T"})}) == [("topic", "U", "", "yes", None)]


def test_a_listed_topic_without_a_route_is_a_difference() -> None:
    assert found(routes={"T": T, "U": None}) == [("topic", "U", "", "yes", "listed, without a route")]


def test_queues_of_a_topic_are_compared_by_broker_name_and_not_by_order() -> None:
    assert (
        found(
            routes={
                "T": replace(T, queue_datas=T.queue_datas[::-1], broker_datas=T.broker_datas[::-1]),
                "U": U,
            }
        )
        == []
    )
    changed = replace(T, queue_datas=[queues("broker-a", perm=4, flag=1), queues("broker-b")])
    assert found(routes={"T": changed, "U": U}) == [
        (
            "topic",
            "T",
            "queues of broker-a",
            "read 4, write 4, perm 6 RW-",
            "read 4, write 4, perm 4 R--, sysFlag 1",
        )
    ]


def test_the_rest_of_a_route_is_compared() -> None:
    mapping = TopicQueueMappingInfo("broker-a", {1: 0, 0: 1}, topic="T")
    changed = replace(
        T,
        order_topic_conf="broker-a:4",
        filter_server_table={"10.0.0.1:10911": ["f:1", "f:2"]},
        topic_queue_mapping_by_broker={"broker-a": mapping},
    )

    assert [(detail, b) for _, _, detail, _, b in found(routes={"T": changed, "U": U})] == [
        ("filter servers of 10.0.0.1:10911", "f:1, f:2"),
        ("orderTopicConf", "broker-a:4"),
        (
            "static mapping of broker-a",
            '{"bname":"broker-a","currIdMap":{"0":1,"1":0},"dirty":false,"epoch":0,"scope":"__global__","topic":"T","totalQueues":0}',
        ),
    ]


def test_a_missing_broker_is_not_repeated_by_every_topic() -> None:
    only_a = replace(T, broker_datas=[BROKER_A], queue_datas=[queues("broker-a")])

    assert found(
        clusters={"c": frozenset({"broker-a"})},
        brokers={"broker-a": BROKER_A},
        routes={"T": only_a, "U": U},
        member_groups={("c", "broker-a"): BROKER_A.broker_addrs},
    ) == [("broker", "broker-b", "", "yes", None)]


def test_a_changed_address_is_said_of_the_broker_only() -> None:
    moved = broker("c", "broker-b", _0="10.0.0.9:10911")

    assert found(
        brokers={"broker-a": BROKER_A, "broker-b": moved},
        routes={"T": replace(T, broker_datas=[BROKER_A, moved]), "U": U},
        member_groups=BASE.member_groups | {("c", "broker-b"): moved.broker_addrs},
    ) == [("broker", "broker-b", "address of id 0", "10.0.0.3:10911", "10.0.0.9:10911")]


def test_addresses_in_a_route_count_where_the_broker_rows_agree() -> None:
    acting = broker("c", "broker-a", _0="10.0.0.2:10911")

    assert found(routes={"T": replace(T, broker_datas=[acting, BROKER_B]), "U": U}) == [
        ("topic", "T", "addresses of broker-a", "0=10.0.0.1:10911, 1=10.0.0.2:10911", "0=10.0.0.2:10911")
    ]


def test_attributes_of_a_broker_are_compared() -> None:
    other = replace(BROKER_B, cluster="d", enable_acting_master=True, zone_name="z")

    assert [each[2:] for each in found(brokers={"broker-a": BROKER_A, "broker-b": other})] == [
        ("cluster", "c", "d"),
        ("enableActingMaster", "false", "true"),
        ("zoneName", None, "z"),
    ]


def test_a_missing_cluster_is_one_difference() -> None:
    assert found(clusters={}, cluster_topics={}) == [("cluster", "c", "", "yes", None)]


def test_topics_of_a_cluster_count_where_the_topics_agree() -> None:
    assert found(cluster_topics={"c": frozenset({"T"})}) == [("topics of cluster", "c", "U", "yes", None)]


def test_a_member_group_counts_where_the_broker_rows_agree() -> None:
    assert found(member_groups={("c", "broker-a"): BROKER_A.broker_addrs}) == [
        ("member group", "c/broker-b", "address of id 0", "10.0.0.3:10911", None)
    ]


def test_kv_values_and_namespaces_are_compared() -> None:
    assert found(kv={"ORDER_TOPIC_CONFIG": {"T": "broker-a:8"}, "ns": {"k": "v"}}) == [
        ("kv config", "ORDER_TOPIC_CONFIG", "T", "broker-a:4", "broker-a:8"),
        ("kv config", "ns", "", None, "yes"),
    ]


def test_data_versions_and_configuration_are_compared() -> None:
    assert found(data_versions={("c", "10.0.0.1:10911"): None}, config={"listenPort": "9877"}) == [
        ("configuration", "listenPort", "", "9876", "9877"),
        (
            "data version",
            "c/10.0.0.1:10911",
            "",
            '{"counter":3,"stateVersion":0,"timestamp":0}',
            "not registered",
        ),
    ]


def test_what_one_side_would_not_tell_is_not_compared() -> None:
    comparison = against(routes={}, missing={SnapshotPart.TOPIC: "disable"}, cluster_topics={})

    assert {each.part for each in comparison.differences} == {SnapshotPart.CLUSTER_TOPICS}
    assert comparison.not_compared == {SnapshotPart.TOPIC: "b:1: disable"}
    assert SnapshotPart.TOPIC not in comparison.compared


def test_the_reason_of_the_first_side_is_shown_when_both_refuse() -> None:
    silent = replace(BASE, missing={SnapshotPart.TOPIC: "no"}, routes={})

    assert compare_snapshots(silent, replace(silent, addr="b:1")).not_compared == {
        SnapshotPart.TOPIC: "a:1: no"
    }


names = st.sampled_from(["x", "y", "z"])
routes = st.dictionaries(
    names,
    st.builds(lambda rows: TopicRouteData([], [queues(row) for row in rows]), st.sets(names)),
    max_size=3,
)
snapshots = st.builds(
    NamesrvSnapshot,
    addr=st.just("h:1"),
    clusters=st.dictionaries(names, st.frozensets(names), max_size=2),
    brokers=st.dictionaries(names, st.builds(broker, names, names, _0=names), max_size=2),
    routes=routes,
    kv=st.dictionaries(names, st.none() | st.dictionaries(names, names), max_size=2),
)


@given(snapshots, snapshots)
def test_a_comparison_is_symmetric_and_finds_nothing_only_in_equals(
    a: NamesrvSnapshot, b: NamesrvSnapshot
) -> None:
    there, back = compare_snapshots(a, b), compare_snapshots(b, a)

    assert [(d.part, d.name, d.detail, d.b, d.a) for d in there.differences] == [
        (d.part, d.name, d.detail, d.a, d.b) for d in back.differences
    ]
    assert compare_snapshots(a, a).differences == []
    if not there.differences:
        assert {topic: len(route.queue_datas) for topic, route in a.routes.items()} == {
            topic: len(route.queue_datas) for topic, route in b.routes.items()
        }
