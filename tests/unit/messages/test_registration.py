"""Headers of registrations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from namekeeper.errors import RequestError
from namekeeper.messages.fields import decode_header, encode_header
from namekeeper.messages.registration import (
    BrokerHeartbeatRequestHeader,
    NotifyMinBrokerIdChangeRequestHeader,
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerResponseHeader,
    UnRegisterBrokerRequestHeader,
    decode_register_broker_header,
    encode_register_broker_header,
)
from namekeeper.model.registration import RegisterBrokerHeader
from tests.unit.messages.samples import int32s, int64s, names, sample, texts

register_headers = st.builds(
    RegisterBrokerHeader,
    broker_name=names,
    broker_addr=names,
    cluster_name=names,
    ha_server_addr=texts,
    broker_id=int64s,
    heartbeat_timeout_ms=int64s,
    enable_acting_master=st.none() | st.booleans(),
    compressed=st.booleans(),
    body_crc32=int32s,
    zone_name=st.none() | names,
)
NEEDED = {
    "brokerName": "broker-a",
    "brokerAddr": "10.0.0.1:10911",
    "clusterName": "DefaultCluster",
    "haServerAddr": "10.0.0.1:10912",
    "brokerId": "0",
}


@given(register_headers)
def test_a_register_header_survives_its_ext_fields(header):
    assert decode_register_broker_header(encode_register_broker_header(header)) == header


def test_v6_is_the_header_of_a_4x_broker():
    header = decode_register_broker_header(sample(6).ext_fields)
    assert header == RegisterBrokerHeader(
        "broker-a", "10.0.0.1:10911", "DefaultCluster", "10.0.0.1:10912", 0, body_crc32=817631384
    )
    assert encode_register_broker_header(header) == sample(6).ext_fields


def test_v8_is_the_header_of_a_5x_broker():
    header = decode_register_broker_header(sample(8).ext_fields)
    assert (header.heartbeat_timeout_ms, header.enable_acting_master, header.compressed) == (
        10_000,
        False,
        True,
    )
    assert encode_register_broker_header(header) == sample(8).ext_fields


@pytest.mark.parametrize(("text", "state"), [(None, None), ("true", True), ("false", False)])
def test_t36_the_acting_master_switch_has_three_states(text, state):
    fields = NEEDED if text is None else {**NEEDED, "enableActingMaster": text}
    assert decode_register_broker_header(fields).enable_acting_master is state


@pytest.mark.parametrize("name", NEEDED)
def test_t7_each_required_field_is_missed_by_name(name):
    fields = {key: value for key, value in NEEDED.items() if key != name}
    with pytest.raises(RequestError, match=f"RegisterBrokerRequestHeader: the field {name} is missing"):
        decode_register_broker_header(fields)


@pytest.mark.parametrize("name", ["brokerName", "brokerAddr", "clusterName", "brokerId"])
def test_an_empty_name_is_no_name(name):
    with pytest.raises(RequestError, match=f"the field {name} is empty"):
        decode_register_broker_header({**NEEDED, name: ""})


def test_a_broker_without_replication_may_have_an_empty_ha_address():
    assert decode_register_broker_header({**NEEDED, "haServerAddr": ""}).ha_server_addr == ""


def test_the_zone_is_a_raw_ext_field():
    assert decode_register_broker_header({**NEEDED, "__ZONE_NAME": "z1"}).zone_name == "z1"


@pytest.mark.parametrize(
    ("text", "checksum"), [("2147483648", 0), ("4294967295", 0), ("-5", -5), ("5", 5), ("x", 0)]
)
def test_t8_an_unsigned_checksum_is_unchecked_and_a_negative_one_compared(text, checksum):
    assert decode_register_broker_header({**NEEDED, "bodyCrc32": text}).body_crc32 == checksum


def test_v11_v12_and_v10_are_read():
    query = decode_header(QueryDataVersionRequestHeader, sample(11).ext_fields)
    assert query == QueryDataVersionRequestHeader("broker-a", "10.0.0.1:10911", "DefaultCluster", 0)
    unregister = decode_header(UnRegisterBrokerRequestHeader, sample(12).ext_fields)
    assert unregister == UnRegisterBrokerRequestHeader("broker-a", "10.0.0.1:10911", "DefaultCluster", 0)
    heartbeat = decode_header(BrokerHeartbeatRequestHeader, sample(10).ext_fields)
    assert heartbeat == BrokerHeartbeatRequestHeader("DefaultCluster", "10.0.0.1:10911", "broker-a")


def test_v9_and_v13_are_written():
    answer = RegisterBrokerResponseHeader(ha_server_addr="10.0.0.1:10912", master_addr="10.0.0.1:10911")
    assert encode_header(answer) == sample(9).ext_fields
    notice = NotifyMinBrokerIdChangeRequestHeader(
        min_broker_id=1, min_broker_addr="127.0.0.1:21901", offline_broker_addr="127.0.0.1:21900"
    )
    assert encode_header(notice) == sample(13).ext_fields


def test_empty_response_headers_have_no_fields_and_changed_is_text():
    assert encode_header(RegisterBrokerResponseHeader()) == {}
    assert encode_header(QueryDataVersionResponseHeader(changed=False)) == {"changed": "false"}


def test_a_heartbeat_spells_its_timeout_as_java_does():
    fields = {**NEEDED, "heartbeatTimeoutMills": "1000", "electionPriority": "1"}
    header = decode_header(BrokerHeartbeatRequestHeader, fields)
    assert (header.heartbeat_timeout_mills, header.election_priority) == (1_000, 1)
