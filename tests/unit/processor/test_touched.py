"""What a request touches beside the names that it holds."""

import pytest

from namekeeper.access.names import NO_NAMES, Names
from namekeeper.errors import RequestError
from namekeeper.processor.touched import names_touched
from namekeeper.wire.command import request
from tests.unit.processor.samples import NAMES


def touched(server, code: int, body: bytes = b"", **fields: str) -> Names:
    return names_touched(server.state, request(code, fields, body))


def names(clusters: str = "", brokers: str = "", topics: str = "") -> Names:
    return Names(*(frozenset(text.split()) for text in (clusters, brokers, topics)))


@pytest.mark.parametrize("code", [103, 104, 322, 904])
def test_the_name_that_an_address_has_and_the_cluster_of_each_name(registered, code):
    own = {**NAMES, "brokerName": "other"}
    assert touched(registered, code, **own) == names("DefaultCluster", "other broker-a")
    elsewhere = {**NAMES, "clusterName": "c2"}
    assert touched(registered, code, **elsewhere) == names("c2 DefaultCluster", "broker-a")
    new = {**NAMES, "brokerName": "new", "brokerAddr": "10.0.0.9:10911"}
    assert touched(registered, code, **new) == names("DefaultCluster", "new")


@pytest.mark.parametrize("code", [205, 327])
def test_a_broker_name_has_the_cluster_of_its_group(registered, code):
    assert touched(registered, code, brokerName="broker-a") == names("DefaultCluster", "broker-a")
    assert touched(registered, code, brokerName="nobody") == names("", "nobody")


def test_the_broker_names_of_217_are_in_its_body(registered):
    body = b'{"queueDatas":[{"brokerName":"broker-a"},{"brokerName":"other"}]}'
    assert touched(registered, 217, body, topic="T") == names("DefaultCluster", "broker-a other", "T")
    assert touched(registered, 217, topic="T") == names(topics="T")
    with pytest.raises(RequestError):
        touched(registered, 217, b"{", topic="T")


def test_requests_without_a_broker_touch_what_they_name(registered):
    assert touched(registered, 216, topic="T", clusterName="c") == names("c", topics="T")
    assert touched(registered, 206) == NO_NAMES
    assert touched(registered, 103) == NO_NAMES
