"""What peers' JSON objects mean to us."""

import pytest

from namekeeper.errors import RequestError
from namekeeper.messages.body_types import RawDataVersion, RawMapping, RawTopicConfig, decode_body
from namekeeper.model.mapping import TopicQueueMappingInfo
from namekeeper.model.version import DataVersion


def test_a_topic_configuration_has_javas_defaults():
    config = decode_body(b'{"topicName":"T"}', RawTopicConfig, "TopicConfig")
    assert (config.read_queue_nums, config.write_queue_nums, config.perm, config.topic_sys_flag) == (
        16,
        16,
        6,
        0,
    )


@pytest.mark.parametrize("attributes", ['{"$ref":"$.a.b"}', "{}", "null", '{"a":"b"}', '[{"a":[1]}]'])
def test_t16_attributes_are_skipped_whatever_they_are(attributes):
    body = f'{{"attributes":{attributes},"topicName":"T"}}'.encode()
    assert decode_body(body, RawTopicConfig, "TopicConfig").topic_name == "T"


def test_a_mapping_has_javas_defaults_and_may_have_bare_keys():
    assert decode_body(b'{"bname":"b"}', RawMapping, "x").to_model() == TopicQueueMappingInfo("b")
    nulls = b'{"bname":"b","currIdMap":null,"dirty":null,"epoch":null,"scope":null,"topic":null,"totalQueues":null}'
    assert decode_body(nulls, RawMapping, "x").to_model() == TopicQueueMappingInfo("b")
    bare = b'{"bname":"b","currIdMap":{0:5,1:6},"epoch":"9007199254740993","scope":""}'
    assert decode_body(bare, RawMapping, "x").to_model() == TopicQueueMappingInfo(
        "b", {0: 5, 1: 6}, epoch=2**53 + 1, scope=""
    )


def test_numbers_may_come_as_strings():
    version = decode_body(b'{"counter":"3","timestamp":5}', RawDataVersion, "DataVersion").to_model()
    assert version == DataVersion(counter=3, timestamp=5)


def test_what_cannot_be_read_is_named():
    with pytest.raises(RequestError, match=r"Failed to decode DataVersion, .*counter"):
        decode_body(b'{"counter":[]}', RawDataVersion, "DataVersion")
