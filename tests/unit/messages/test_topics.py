"""Headers of requests about topics and permissions."""

import pytest

from namekeeper.errors import RequestError
from namekeeper.messages.fields import decode_header, encode_header
from namekeeper.messages.topics import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
    DeleteTopicFromNamesrvRequestHeader,
    GetTopicsByClusterRequestHeader,
    RegisterTopicRequestHeader,
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)


@pytest.mark.parametrize(
    ("header_type", "name"),
    [
        (WipeWritePermOfBrokerRequestHeader, "brokerName"),
        (AddWritePermOfBrokerRequestHeader, "brokerName"),
        (DeleteTopicFromNamesrvRequestHeader, "topic"),
        (RegisterTopicRequestHeader, "topic"),
        (GetTopicsByClusterRequestHeader, "cluster"),
    ],
)
def test_each_header_has_the_one_field_that_java_requires(header_type, name):
    assert encode_header(decode_header(header_type, {name: "x"})) == {name: "x"}
    with pytest.raises(RequestError, match=f"{header_type.__name__}: the field {name} is missing"):
        decode_header(header_type, {})


def test_counts_are_written_as_text():
    assert encode_header(WipeWritePermOfBrokerResponseHeader(3)) == {"wipeTopicCount": "3"}
    assert encode_header(AddWritePermOfBrokerResponseHeader(0)) == {"addTopicCount": "0"}


def test_an_empty_cluster_name_deletes_everywhere():
    header = decode_header(DeleteTopicFromNamesrvRequestHeader, {"topic": "T", "clusterName": ""})
    assert header.cluster_name is None
