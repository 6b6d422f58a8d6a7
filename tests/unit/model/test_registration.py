"""The header and the body of a registration (protocol.md 2.10, 3)."""

from namekeeper.model.registration import RegisterBrokerHeader, RegistrationBody
from namekeeper.model.version import DataVersion


def test_what_a_header_leaves_out_has_javas_defaults():
    header = RegisterBrokerHeader("broker-a", "10.0.0.1:10911", "c", "10.0.0.1:10912", 0)
    assert header.heartbeat_timeout_ms == 120_000
    assert (header.compressed, header.body_crc32, header.zone_name) == (False, 0, None)


def test_a_header_without_acting_master_is_neither_true_nor_false():
    assert RegisterBrokerHeader("a", "addr", "c", "ha", 0).enable_acting_master is None


def test_no_body_at_all_is_an_empty_one():
    body = RegistrationBody()
    assert (body.data_version, body.topics, body.topic_count) == (DataVersion(0, 0, 0), {}, 0)
    assert (body.filter_servers, body.mappings, body.topic_keys) == ((), {}, None)
