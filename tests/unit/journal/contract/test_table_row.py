"""A row of a table becomes the record that it was made of."""

import json

import msgspec
import pytest

from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    Config,
    FilterServers,
    Kv,
    Record,
    TopicMapping,
    TopicQueues,
)
from namekeeper.journal.contract.table_row import record_of

QUEUES = {"read_queue_nums": 8, "write_queue_nums": 4, "perm": 6, "topic_sys_flag": 0}
LIVE = {"cluster": "c", "broker_addr": "a:1", "broker_name": "b", "broker_id": 0, "gen": 3}


@pytest.mark.parametrize(
    ("row", "record"),
    [
        (
            {"broker_name": "b", "cluster": "c", "zone": None, "acting_master": True, "broker_addrs": {"0": "a:1"}},
            BrokerGroup(broker_name="b", cluster="c", acting_master=True, broker_addrs={0: "a:1"}),
        ),
        ({"broker_name": "b", "cluster": None, "gone": True}, BrokerGroup(broker_name="b", gone=True)),
        (
            {**LIVE, "data_version": [1, 2, 3], "idle_ms": None, "namesrv": "ignored"},
            BrokerLive(**LIVE, data_version=(1, 2, 3)),
        ),
        (LIVE, BrokerLive(**LIVE)),
        (
            {"broker_name": "b", "topic": "T", **QUEUES, "gone": False},
            TopicQueues(broker_name="b", rows=[("T", 8, 4, 6, 0)]),
        ),
        (
            {"broker_name": "b", "topic": "T", **dict.fromkeys(QUEUES), "gone": True},
            TopicQueues(broker_name="b", rows=[("T",)]),
        ),
        (
            {"cluster": "c", "broker_addr": "a:1", "filter_servers": ["f:1"], "gone": False},
            FilterServers(cluster="c", broker_addr="a:1", filter_servers=["f:1"]),
        ),
        ({"namespace": "n", "key": "k", "value": None, "gone": True}, Kv(namespace="n", key="k", gone=True)),
        ({"property": "p", "value": "v"}, Config(properties={"p": "v"})),
        ({"property": "p", "value": None}, Config(properties={"p": ""})),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Record) else "",
)  # fmt: skip
def test_a_row_is_the_record_without_an_envelope(row, record):
    assert record_of(type(record), row) == record


def test_a_mapping_stays_as_it_is_written():
    row = {"topic": "T", "broker_name": "b", "mapping": '{"epoch":1}', "gone": False}
    assert bytes(record_of(TopicMapping, row).mapping) == b'{"epoch":1}'
    gone = record_of(TopicMapping, {**row, "mapping": None, "gone": True})
    assert bytes(gone.mapping) == b"null"


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        (BrokerLive, {**LIVE, "data_version": [1]}),
        (BrokerGroup, {"broker_name": 7}),
        (Kv, {"namespace": "n"}),
    ],
)
def test_a_row_that_contradicts_the_contract_is_refused(kind, row):
    with pytest.raises(ValueError, match=r"Expected|missing"):
        record_of(kind, row)


def test_the_line_of_the_record_is_that_of_the_row():
    row = {"broker_name": "b", "topic": "T", **QUEUES, "gone": False}
    assert json.loads(msgspec.json.encode(record_of(TopicQueues, row)))["rows"] == [["T", 8, 4, 6, 0]]
