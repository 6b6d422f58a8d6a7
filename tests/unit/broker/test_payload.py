"""The requests of a broker, as real brokers send them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.broker.payload import (
    broker_heartbeat_request,
    query_data_version_request,
    register_broker_request,
    unregister_broker_request,
)
from namekeeper.messages.body_checksum import check_crc32
from namekeeper.messages.registration import (
    BrokerHeartbeatRequestHeader,
    QueryDataVersionRequestHeader,
    UnRegisterBrokerRequestHeader,
    decode_register_broker_header,
)
from namekeeper.messages.registration_body import decode_registration_body
from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.model.version import DataVersion
from namekeeper.wire.command import OUR_VERSION
from tests.unit.messages.samples import finish, sample
from tests.unit.messages.test_register_broker_body import PLAIN
from tests.unit.messages.test_registration_body import expected_of, own_bodies

HEADER = RegisterBrokerHeader("broker-a", "10.0.0.1:10911", "DefaultCluster", "10.0.0.1:10912", 0)
NAMES = {"broker_name": "broker-a", "broker_addr": "10.0.0.1:10911", "cluster_name": "DefaultCluster"}


@pytest.mark.parametrize(("number", "compressed"), [(6, False), (7, True)])
def test_v6_and_v7_are_the_requests_of_a_4x_broker(number, compressed):
    request, vector = (
        register_broker_request(HEADER, PLAIN, compressed=compressed, version=373),
        sample(number),
    )
    assert (request.code, request.version, request.ext_fields) == (
        vector.code,
        vector.version,
        vector.ext_fields,
    )
    assert request.body == vector.body
    assert request.flag == 0


@given(own_bodies, st.booleans())
def test_a_registration_is_read_as_it_was_meant(body, compressed):
    header = RegisterBrokerHeader(
        "b", "a:1", "c", "", 2**40, heartbeat_timeout_ms=10_000, enable_acting_master=True, zone_name="z"
    )
    request = register_broker_request(header, body, compressed=compressed)
    read = decode_register_broker_header(request.ext_fields)
    assert (read.broker_id, read.heartbeat_timeout_ms, read.enable_acting_master, read.zone_name) == (
        2**40,
        10_000,
        True,
        "z",
    )
    assert read.compressed is compressed
    finish(check_crc32(read.body_crc32, request.body))
    decoded = finish(decode_registration_body(request.body, version=request.version, compressed=compressed))
    assert decoded == expected_of(body, compressed=compressed)


def test_it_says_5_5_0_unless_told_otherwise():
    assert register_broker_request(HEADER, PLAIN).version == OUR_VERSION


def test_v12_is_an_unregistration():
    request, vector = (
        unregister_broker_request(UnRegisterBrokerRequestHeader(**NAMES, broker_id=0)),
        sample(12),
    )
    assert (request.code, request.ext_fields, request.flag, request.body) == (104, vector.ext_fields, 0, b"")


@pytest.mark.parametrize("oneway", [False, True])
def test_v11_asks_for_the_version(oneway):
    request = query_data_version_request(
        QueryDataVersionRequestHeader(**NAMES, broker_id=0),
        DataVersion(3, 0, 1_700_000_000_000),
        oneway=oneway,
    )
    assert (request.code, request.ext_fields) == (322, sample(11).ext_fields)
    assert request.body == b'{"counter":3,"stateVersion":0,"timestamp":1700000000000}'
    assert request.is_oneway is oneway


def test_v10_is_a_heartbeat_that_wants_no_answer():
    request, vector = broker_heartbeat_request(BrokerHeartbeatRequestHeader(**NAMES)), sample(10)
    assert (request.code, request.ext_fields, request.flag) == (904, vector.ext_fields, vector.flag)
