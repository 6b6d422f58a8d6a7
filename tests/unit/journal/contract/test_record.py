"""The records as values, and as lines."""

import msgspec
import pytest

from namekeeper.journal.contract.record import (
    STATE_KINDS,
    BrokerGroup,
    Envelope,
    Record,
    ServerAlive,
    ServerStopped,
    TopicQueues,
    TopicQueuesRow,
)
from namekeeper.journal.contract.stated import RowPart, fields_of


def kind_of(record_type) -> str:
    return str(record_type.__struct_config__.tag)


def test_kinds_of_state_say_what_a_row_is():
    assert [kind_of(kind) for kind in STATE_KINDS] == [
        "broker_live", "broker_group", "cluster", "topic_queues", "broker_name_removed", "topic_mapping",
        "filter_servers", "kv", "config",
    ]  # fmt: skip


def test_an_envelope_has_what_each_record_has():
    assert set(Envelope.__struct_fields__) == {*Record.__struct_fields__, "kind"}


@pytest.mark.parametrize("record_type", STATE_KINDS, ids=kind_of)
def test_the_key_of_a_state_kind_is_required(record_type):
    assert all(field.is_required for field in fields_of(record_type) if field.part is RowPart.KEY)


def test_what_has_its_default_is_left_out_but_the_time_since_the_boot():
    line = msgspec.json.encode(ServerAlive(v=1, namesrv="n", boot=1, seq=1, change=1, ts=1))
    assert line == b'{"kind":"server_alive","v":1,"namesrv":"n","boot":1,"seq":1,"change":1,"ts":1,"up_ms":0}'


def test_a_record_knows_its_kind():
    assert ServerStopped(last_seq=1).kind == "server_stopped"


def test_broker_ids_are_text_in_json():
    line = msgspec.json.encode(BrokerGroup(broker_name="b", broker_addrs={0: "a:1"}))
    assert b'"broker_addrs":{"0":"a:1"}' in line


def test_a_topic_row_is_a_tuple_of_its_members_on_disk():
    row = TopicQueuesRow("T", 8, 4, 6, 0)
    line = msgspec.json.encode(TopicQueues(broker_name="b", rows=[row, ("U",)]))
    assert b'"rows":[["T",8,4,6,0],["U"]]' in line
    first, second = msgspec.json.decode(line, type=TopicQueues).rows
    assert TopicQueuesRow(*first) == row
    assert second == ("U",)
