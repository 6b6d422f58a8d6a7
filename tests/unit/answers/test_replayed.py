"""A whole state as plain values."""

import json

import msgspec

from namekeeper.answers.replayed import state_value
from namekeeper.journal.reading.replay import state_at
from tests.support.journal.folder import read_records
from tests.unit.answers.story import Story


def test_every_row_is_there():
    story = Story()
    story.registers(filters=["f:1"], zone="z", mappings={"T": {"bname": "b0", "topic": "T", "epoch": 3}})
    state = state_at(read_records(story.journal.lines())).state
    state.kv["n"] = {"k": "v"}
    value = json.loads(msgspec.json.encode(state_value(state)))
    assert value["brokers"] == [
        {
            "cluster": "c", "brokerName": "b0", "brokerAddrs": {"0": "a0:1"}, "enableActingMaster": False,
            "zoneName": "z",
        }
    ]  # fmt: skip
    assert value["clusters"] == {"c": ["b0"]}
    assert [(live["brokerAddr"], live["remoteAddr"], live["gen"]) for live in value["live"]] == [
        ("a0:1", "peer:1", 1)
    ]
    assert value["topics"]["T"] == {
        "b0": {"readQueueNums": 4, "writeQueueNums": 4, "perm": 6, "topicSysFlag": 0}
    }
    assert value["mappings"]["T"]["b0"]["epoch"] == 3
    assert value["filterServers"] == {"a0:1": ["f:1"]}
    assert value["kv"] == {"n": {"k": "v"}}
    assert value["properties"]["listenPort"]
