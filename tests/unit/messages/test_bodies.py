"""JSON bodies in both forms."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.common.slices import run_slices
from namekeeper.errors import RequestError
from namekeeper.messages import bodies
from namekeeper.messages.bodies import (
    EMPTY_FILTER_SERVER_TABLE,
    SLICE_NAMES,
    RouteSize,
    assemble_topic_route,
    decode_broker_member_group,
    decode_cluster_info,
    decode_data_version,
    decode_kv_table,
    decode_topic_list,
    decode_topic_route,
    encode_broker_data,
    encode_broker_member_group,
    encode_cluster_info,
    encode_data_version,
    encode_filter_server_table,
    encode_filter_servers_in_slices,
    encode_kv_table,
    encode_mapping,
    encode_mappings_by_broker,
    encode_mappings_in_slices,
    encode_queue_data,
    encode_topic_list,
    encode_topic_route,
    is_absent,
)
from namekeeper.model.broker import BrokerData
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.route import BrokerMemberGroup, ClusterInfo, TopicList, TopicRouteData
from namekeeper.model.topic import QueueData
from namekeeper.model.version import DataVersion
from tests.support.system.errors import case
from tests.unit.messages.samples import (
    brokers,
    cluster_infos,
    groups,
    mappings,
    queues,
    routes,
    sample,
    texts,
    topic_lists,
    versions,
)

MASTER = BrokerData("DefaultCluster", "broker-a", {0: "10.0.0.1:10911"})
PAIR = BrokerData("DefaultCluster", "broker-a", {1: "10.0.0.2:10911", 0: "10.0.0.1:10911"})
FOUR = QueueData("broker-a", perm=6, read_queue_nums=4, topic_sys_flag=0, write_queue_nums=4)
STANDARD = (
    '{"brokerDatas":[{"brokerAddrs":{"0":"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster",'
    '"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[{"brokerName":"broker-a","perm":6,'
    '"readQueueNums":4,"topicSysFlag":0,"writeQueueNums":4}]}'
)
LEGACY = STANDARD.replace('"0":', "0:").replace('"topicSysFlag"', '"topicSynFlag":0,"topicSysFlag"')

forms = st.booleans()


def test_the_answers_of_2_1_are_written_byte_for_byte():
    route = TopicRouteData([MASTER], [FOUR])
    assert encode_topic_route(route, standard=True).decode() == STANDARD
    assert encode_topic_route(route, standard=False).decode() == LEGACY


def test_v5_is_written_byte_for_byte():
    assert encode_topic_route(TopicRouteData([PAIR], [FOUR]), standard=True) == sample(5).body


def test_v4_is_written_but_for_what_5x_adds():
    body = encode_topic_route(TopicRouteData([PAIR], [FOUR]), standard=False)
    for addition in (b',"enableActingMaster":false', b',"topicSysFlag":0'):
        body = body.replace(addition, b"")
    assert body == sample(4).body


@pytest.mark.parametrize("number", [4, 5])
def test_v4_and_v5_are_read(number):
    assert decode_topic_route(sample(number).body) == TopicRouteData([PAIR], [FOUR])


def test_what_is_present_only_sometimes_comes_in_alphabetical_order():
    route = TopicRouteData(
        broker_datas=[BrokerData("c", "b", {}, enable_acting_master=True, zone_name="z")],
        filter_server_table={"b:2": ["f:2"], "b:1": ["f:1", "f:0"]},
        order_topic_conf="b:4",
        topic_queue_mapping_by_broker={
            "b": TopicQueueMappingInfo("b", {1: 1, 0: 0}, topic="T", total_queues=2)
        },
    )
    mapping = '{"bname":"b","currIdMap":{"0":0,"1":1},"dirty":false,"epoch":0,"scope":"__global__","topic":"T","totalQueues":2}'
    expected = (
        '{"brokerDatas":[{"brokerAddrs":{},"brokerName":"b","cluster":"c","enableActingMaster":true,"zoneName":"z"}],'
        '"filterServerTable":{"b:1":["f:1","f:0"],"b:2":["f:2"]},"orderTopicConf":"b:4","queueDatas":[],'
        f'"topicQueueMappingByBroker":{{"b":{mapping}}}}}'
    )
    assert encode_topic_route(route, standard=True).decode() == expected
    bare = expected.replace('"0":0,"1":1', "0:0,1:1")
    assert encode_topic_route(route, standard=False).decode() == bare


@given(routes, forms)
def test_a_route_survives_either_form(route, standard):
    assert decode_topic_route(encode_topic_route(route, standard=standard)) == route


@given(routes)
def test_the_standard_form_is_json_in_alphabetical_order_without_blanks_and_nulls(route):
    body = encode_topic_route(route, standard=True).decode()
    assert body == json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":"))

    def check(pairs):
        assert all(value is not None for _, value in pairs)
        return dict(pairs)

    json.loads(body, object_pairs_hook=check)


@given(routes, forms)
def test_fragments_assemble_to_the_whole(route, standard):
    table = route.topic_queue_mapping_by_broker
    assembled = assemble_topic_route(
        [encode_broker_data(broker, standard=standard) for broker in route.broker_datas],
        [encode_queue_data(queue, standard=standard) for queue in route.queue_datas],
        encode_filter_server_table(route.filter_server_table),
        route.order_topic_conf,
        None if table is None else encode_mappings_by_broker(table, standard=standard),
    )
    assert assembled == encode_topic_route(route, standard=standard)


def test_a_route_of_fragments_needs_no_more_than_those():
    assert assemble_topic_route([], []) == encode_topic_route(TopicRouteData(), standard=True)
    assert encode_filter_server_table({}) == EMPTY_FILTER_SERVER_TABLE


@given(brokers, queues)
def test_fragments_in_standard_form_are_what_msgspec_makes_of_the_values(broker, queue):
    assert json.loads(encode_queue_data(queue, standard=True)) == msgspec.to_builtins(queue)
    expected = {
        key: value for key, value in msgspec.to_builtins(broker, str_keys=True).items() if value is not None
    }
    assert json.loads(encode_broker_data(broker, standard=True)) == expected


@given(mappings, forms)
def test_a_mapping_survives_either_form(mapping, standard):
    body = encode_topic_route(TopicRouteData(topic_queue_mapping_by_broker={"b": mapping}), standard=standard)
    assert decode_topic_route(body).topic_queue_mapping_by_broker == {"b": mapping}


@pytest.mark.parametrize(
    ("epoch", "text"),
    [(2**53 - 1, b"9007199254740991"), (2**53, b'"9007199254740992"'), (-(2**53), b'"-9007199254740992"')],
)
def test_an_epoch_that_javascript_would_round_is_a_string_in_standard_form(epoch, text):
    mapping = TopicQueueMappingInfo("b", epoch=epoch)
    assert b'"epoch":%b,' % text in encode_mapping(mapping, standard=True)
    assert b'"epoch":%d,' % epoch in encode_mapping(mapping, standard=False)


def test_t5_t34_slashes_and_other_scripts_stay_as_they_are():
    broker = BrokerData("ü/\U0001f600", 'a"b\\c\n\x01\x7f\u2028', {})
    assert encode_broker_data(broker, standard=True).decode() == (
        '{"brokerAddrs":{},"brokerName":"a\\"b\\\\c\\n\\u0001\x7f\u2028","cluster":"ü/\U0001f600","enableActingMaster":false}'
    )


def test_ids_are_in_numeric_order_and_exact():
    broker = BrokerData("c", "b", {10: "x", 9: "y", -(2**63): "z"})
    assert b'{"-9223372036854775808":"z","9":"y","10":"x"}' in encode_broker_data(broker, standard=True)


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"brokerDatas":null,"queueDatas":null,"filterServerTable":null,"orderTopicConf":null}',
        b'{"filterServerTable":{"a:1":null},"unknown":[{}]}',
    ],
)
def test_missing_and_null_members_of_a_route_are_empty(body):
    assert decode_topic_route(body) == TopicRouteData()


def test_missing_members_of_brokers_and_queues_are_empty_or_zero():
    body = b'{"brokerDatas":[{}],"queueDatas":[{}],"topicQueueMappingByBroker":{"b":{"bname":"b"}}}'
    assert decode_topic_route(body) == TopicRouteData(
        [BrokerData("", "")],
        [QueueData("", 0, 0, 0, 0)],
        topic_queue_mapping_by_broker={"b": TopicQueueMappingInfo("b")},
    )


@pytest.mark.parametrize(
    ("members", "flag"),
    [
        ('"topicSynFlag":1', 1),
        ('"topicSysFlag":2', 2),
        ('"topicSynFlag":1,"topicSysFlag":2', 2),
        ('"topicSysFlag":null', 0),
    ],
)
def test_t15_the_system_flag_has_two_names(members, flag):
    assert (
        decode_topic_route(b'{"queueDatas":[{%b}]}' % members.encode()).queue_datas[0].topic_sys_flag == flag
    )


INFO = ClusterInfo({"broker-a": PAIR}, {"DefaultCluster": ["broker-a"]})


def test_the_answer_of_2_2_is_written_in_either_form():
    literal = (
        '{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},"brokerName":"broker-a",'
        '"cluster":"DefaultCluster","enableActingMaster":false}},"clusterAddrTable":{"DefaultCluster":["broker-a"]}}'
    )
    assert run_slices(encode_cluster_info(INFO, standard=False)).decode() == literal
    quoted = literal.replace("0:", '"0":', 1).replace(',1:"', ',"1":"')
    assert run_slices(encode_cluster_info(INFO, standard=True)).decode() == quoted
    assert (
        run_slices(encode_cluster_info(ClusterInfo(), standard=False))
        == b'{"brokerAddrTable":{},"clusterAddrTable":{}}'
    )


def test_cluster_information_of_many_broker_names_is_written_in_slices():
    names = [f"broker-{index}" for index in range(3 * SLICE_NAMES)]
    info = ClusterInfo(
        {name: msgspec.structs.replace(PAIR, broker_name=name) for name in names}, {"C": sorted(names)}
    )
    slices = encode_cluster_info(info, standard=True)
    assert sum(1 for _ in slices) == 3
    assert decode_cluster_info(run_slices(encode_cluster_info(info, standard=True))) == info


def test_a_large_mapping_and_many_filter_servers_are_written_in_slices(monkeypatch):
    mapping = TopicQueueMappingInfo("b", dict.fromkeys(reversed(range(10)), 0), topic="T")
    servers = {f"10.0.0.{number}:1": ("f:1", "f:2") for number in range(4)}
    mappings = {"b": mapping, "c": mapping}
    wholes = encode_mappings_by_broker(mappings, standard=False), encode_filter_server_table(servers)
    monkeypatch.setattr(bodies, "SLICE_PARTS", 3)
    monkeypatch.setattr(bodies, "PARTS_OF_NAME", 1)
    assert sum(1 for _ in encode_mappings_in_slices(mappings, RouteSize(), standard=False)) == 7, (
        "one is between both"
    )
    assert sum(1 for _ in encode_filter_servers_in_slices(servers, RouteSize())) == 4
    long_names = {f"10.0.0.{number}:1": ("x" * 200,) for number in range(4)}
    monkeypatch.setattr(bodies, "SLICE_PARTS", 5)
    assert sum(1 for _ in encode_filter_servers_in_slices(long_names, RouteSize())) == 4
    assert wholes == (
        encode_mappings_by_broker(mappings, standard=False),
        encode_filter_server_table(servers),
    )
    assert wholes[1].startswith(b'{"10.0.0.0:1":["f:1","f:2"],"10.0.0.1:1":')


@given(cluster_infos, forms)
def test_cluster_information_survives_either_form(info, standard):
    assert decode_cluster_info(run_slices(encode_cluster_info(info, standard=standard))) == info


GROUP = BrokerMemberGroup("DefaultCluster", "broker-a", {0: "10.0.0.1:10911"})


def test_the_answer_of_2_7_is_written_in_either_form():
    literal = '{"brokerMemberGroup":{"brokerAddrs":{0:"10.0.0.1:10911"},"brokerName":"broker-a","cluster":"DefaultCluster"}}'
    assert encode_broker_member_group(GROUP, standard=False).decode() == literal
    assert encode_broker_member_group(GROUP, standard=True).decode() == literal.replace("0:", '"0":', 1)
    unknown = BrokerMemberGroup("c", "b")
    assert b'"brokerAddrs":{}' in encode_broker_member_group(unknown, standard=False)


@given(groups, forms)
def test_a_member_group_survives_either_form(group, standard):
    assert decode_broker_member_group(encode_broker_member_group(group, standard=standard)) == group


def test_an_answer_without_group_is_an_empty_one():
    assert decode_broker_member_group(b"{}") == BrokerMemberGroup("", "")


def test_topic_lists_are_written_as_in_2_5():
    assert encode_topic_list(TopicList(["A", "B"])) == b'{"topicList":["A","B"]}'
    assert encode_topic_list(TopicList(["A"], "h:1")) == b'{"brokerAddr":"h:1","topicList":["A"]}'


@given(topic_lists)
def test_a_topic_list_survives(topics):
    assert decode_topic_list(encode_topic_list(topics)) == topics


def test_v9_is_an_order_topic_table():
    table = {"TopicTest": "broker-a:4;broker-b:4"}
    assert encode_kv_table(table) == sample(9).body
    assert decode_kv_table(sample(9).body) == table
    assert encode_kv_table({}) == b'{"table":{}}'


@given(st.dictionaries(texts, texts, max_size=4))
def test_a_table_survives(table):
    assert decode_kv_table(encode_kv_table(table)) == table


def test_an_entry_without_value_is_none():
    assert decode_kv_table(b'{"table":{"a":null,"b":"c"}}') == {"b": "c"}
    assert decode_kv_table(b"{}") == {}


def test_a_version_is_written_as_5x_does():
    assert encode_data_version(DataVersion(1, 0, 1_700_000_000_000)) == (
        b'{"counter":1,"stateVersion":0,"timestamp":1700000000000}'
    )


@given(versions)
def test_a_version_survives(version):
    assert decode_data_version(encode_data_version(version)) == version


@pytest.mark.parametrize("body", [b"{}", b'{"counter":null,"timestamp":null}', b'{"counter":"0"}'])
def test_t17_missing_members_of_a_version_are_zero(body):
    assert decode_data_version(body) == DataVersion()


DECODERS = {name: getattr(bodies, name) for name in bodies.__all__ if name.startswith("decode_")}


@pytest.mark.parametrize("name", DECODERS)
def test_a_body_that_is_no_object_is_refused_by_name(name):
    for body in (b"", b"null", b"[]", b"{", b"\xff", b"{}x", b'"\\ud800"'):
        with case(body), pytest.raises(RequestError, match=r"Failed to decode [A-Z]") as raised:
            DECODERS[name](body)
        assert raised.value.code == 1, body


@pytest.mark.parametrize(
    "body",
    [
        b'{"queueDatas":[{"perm":2147483648}]}',
        b'{"brokerDatas":[{"brokerAddrs":{"9223372036854775808":"a"}}]}',
        b'{"brokerDatas":[{"brokerAddrs":{"x":"a"}}]}',
        b'{"topicQueueMappingByBroker":{"b":{}}}',
        b'{"brokerDatas":{}}',
    ],
)
def test_values_that_no_peer_can_hold_are_refused(body):
    with pytest.raises(RequestError, match="Failed to decode TopicRouteData, "):
        decode_topic_route(body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [(b"", True), (b"null", True), (b" null\r\n", True), (b"{}", False), (b'"null"', False), (b"  ", False)],
)
def test_a_body_without_a_value_is_absent(body, expected):
    assert is_absent(body) is expected
