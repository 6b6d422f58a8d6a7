"""What a broker writes is what Java writes; `test_registration_body` holds the law that it is read back."""

import json
import zlib

import pytest
from hypothesis import given

from namekeeper.messages.register_broker_body import RegisterBrokerBody, encode_registration_body
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.topic import TopicConfig
from namekeeper.model.version import DataVersion
from tests.unit.messages.samples import sample
from tests.unit.messages.test_registration_body import own_bodies

VERSION = DataVersion(counter=3, timestamp=1_700_000_000_000)
TBW102 = TopicConfig("TBW102", 8, 8, 7)
PLAIN = RegisterBrokerBody(VERSION, (TopicConfig("TopicTest", 4, 4), TBW102))
STATIC = TopicQueueMappingInfo(
    "broker-a", {0: 0, 1: 1}, epoch=1_700_000_000_002, topic="StaticT", total_queues=4
)


def with_attributes(attributes: dict[str, str]) -> RegisterBrokerBody:
    return RegisterBrokerBody(
        VERSION,
        (TopicConfig("TopicTest", 4, 4, attributes=attributes), TBW102),
        mappings=(STATIC,),
        mapping_data_version=DataVersion(timestamp=1_700_000_000_001),
    )


@pytest.mark.parametrize(("number", "compressed"), [(6, False), (7, True)])
def test_v6_and_v7_are_written_byte_for_byte(number, compressed):
    assert encode_registration_body(PLAIN, compressed=compressed, version=373) == sample(number).body


def test_v8_is_written_byte_for_byte_with_javas_bare_keys():
    body = with_attributes({"+message.type": "NORMAL"})
    assert encode_registration_body(body, compressed=True, version=479, standard=False) == sample(8).body


def test_the_5x_body_of_3_2_is_written_with_every_key_quoted():
    expected = (
        '{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":3,"stateVersion":0,"timestamp":'
        '1700000000000},"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":1700000000001},"topicConfigTable":{'
        '"TopicTest":{"attributes":{"message.type":"NORMAL"},"order":false,"perm":6,"readQueueNums":4,"topicFilterType":'
        '"SINGLE_TAG","topicName":"TopicTest","topicSysFlag":0,"writeQueueNums":4},"TBW102":{"attributes":{},"order":false,'
        '"perm":7,"readQueueNums":8,"topicFilterType":"SINGLE_TAG","topicName":"TBW102","topicSysFlag":0,"writeQueueNums":8}},'
        '"topicQueueMappingDetailMap":{},"topicQueueMappingInfoMap":{"StaticT":{"bname":"broker-a","currIdMap":{"0":0,"1":1},'
        '"dirty":false,"epoch":1700000000002,"scope":"__global__","topic":"StaticT","totalQueues":4}}}}'
    )
    body = with_attributes({"message.type": "NORMAL"})
    assert encode_registration_body(body).decode() == expected
    bare = expected.replace('{"0":0,"1":1}', "{0:0,1:1}")
    assert encode_registration_body(body, standard=False).decode() == bare


def test_an_order_topic_and_filter_servers_are_said():
    body = RegisterBrokerBody(topics=(TopicConfig("T", order=True),), filter_servers=("f:1",))
    document = json.loads(encode_registration_body(body))
    assert document["filterServerList"] == ["f:1"]
    assert document["topicConfigSerializeWrapper"]["topicConfigTable"]["T"]["order"] is True


@given(own_bodies)
def test_t56_json_is_strict(body):
    def check(pairs):
        assert all(value is not None for _, value in pairs)
        return dict(pairs)

    json.loads(encode_registration_body(body), object_pairs_hook=check)


def test_before_5_0_the_stream_ends_after_three_sections():
    inner = zlib.decompress(encode_registration_body(RegisterBrokerBody(), compressed=True, version=412))
    version = b'{"counter":0,"timestamp":0}'
    assert inner == len(version).to_bytes(4) + version + bytes(4) + b"\0\0\0\2[]"
    assert zlib.decompress(encode_registration_body(RegisterBrokerBody(), compressed=True)).endswith(
        b"[]" + bytes(4)
    )
