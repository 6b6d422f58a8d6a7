"""What is made from the records is current, and says of them what a reader needs."""

import json
from pathlib import Path

import pytest

from namekeeper.journal.contract import generate
from namekeeper.journal.contract.activity import EDGES_MS
from namekeeper.journal.contract.generate import contract, generated_files, pipeline_contract
from namekeeper.journal.contract.kinds import KINDS
from namekeeper.journal.contract.record import Record

PACKAGE = Path(generate.__file__).parents[2]


@pytest.mark.parametrize("path", generated_files())
def test_a_file_that_is_made_is_current(path: str):
    assert (PACKAGE / path).read_text() == generated_files()[path], (
        "python -m namekeeper.journal.contract.generate"
    )


def test_the_files_are_the_values():
    assert json.loads(generated_files()["journal/contract/v1.json"]) == contract()
    assert json.loads(generated_files()["pipeline/contract.json"]) == pipeline_contract()


def test_every_kind_is_there_in_order():
    kinds = [kind.__struct_config__.tag for kind in KINDS]
    assert list(contract()["kinds"]) == kinds == list(pipeline_contract()["kinds"])


def test_a_state_kind_has_its_key_also_where_it_is_in_the_rows_of_a_record():
    keys = {kind: facts["key"] for kind, facts in contract()["kinds"].items() if "key" in facts}
    assert keys == {
        "broker_live": ["cluster", "broker_addr"],
        "broker_group": ["broker_name"],
        "cluster": ["cluster"],
        "topic_queues": ["broker_name", "topic"],
        "broker_name_removed": ["broker_name"],
        "topic_mapping": ["topic", "broker_name"],
        "filter_servers": ["cluster", "broker_addr"],
        "kv": ["namespace", "key"],
        "config": ["property"],
    }


def test_what_a_line_always_has_is_required():
    envelope = contract()["envelope"]
    assert [name for name, facts in envelope.items() if facts.get("required")] == [
        "kind", "v", "namesrv", "boot", "seq", "change", "ts", "up_ms",
    ]  # fmt: skip
    live = contract()["kinds"]["broker_live"]["fields"]
    assert [name for name, facts in live.items() if facts.get("required")] == [
        "cluster", "broker_addr", "broker_name", "broker_id", "gen",
    ]  # fmt: skip


def test_an_envelope_member_of_any_record_is_stated_once():
    own = {name for facts in contract()["kinds"].values() for name in facts["fields"]}
    assert own & set(contract()["envelope"]) == set()
    assert set(Record.__struct_fields__) | {"kind"} == set(contract()["envelope"])


def test_types_are_those_of_json():
    kinds = contract()["kinds"]
    assert kinds["broker_live"]["fields"]["data_version"]["type"] == "array<long>"
    assert kinds["broker_group"]["fields"]["zone"]["type"] == "string"
    assert kinds["broker_group"]["fields"]["broker_addrs"]["type"] == "map<string,string>"
    assert kinds["checkpoint_end"]["fields"]["counts"]["type"] == "map<string,long>"
    assert kinds["topic_queues"]["fields"]["rows"]["type"] == "array<array<string>>"
    assert kinds["topic_mapping"]["fields"]["mapping"]["type"] == "json"


def test_the_pipeline_gets_the_members_of_rows_in_a_record():
    rows = pipeline_contract()["kinds"]["topic_queues"]["fields"]["rows"]["rows"]
    assert list(rows) == ["topic", "read_queue_nums", "write_queue_nums", "perm", "topic_sys_flag"]
    assert rows["perm"]["is_int"]


def test_readers_find_the_edges_of_the_gaps():
    assert contract()["heartbeat_gap_edges_ms"] == list(EDGES_MS)
    gaps = pipeline_contract()["kinds"]["broker_minute"]["fields"]["gaps"]["column"]
    assert "1000, 5000, 10000, 20000, 35000, 65000, 125000 ms" in gaps
