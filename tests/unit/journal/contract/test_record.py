"""The records are what the contract says, member by member."""

from typing import get_args, get_type_hints

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import fields

from namekeeper.journal.contract.record import (
    CONTRACT_VERSION,
    EDGES_MS,
    KINDS,
    STATE_KINDS,
    BrokerGroup,
    Envelope,
    Record,
    ServerAlive,
    ServerStopped,
)
from namekeeper.journal.contract.reference import load_contract

CONTRACT = load_contract()
ENVELOPE = {field.name for field in fields(Record)}

TYPES = {
    "string": str,
    "long": int,
    "boolean": bool,
    "json": Raw,
    "array<string>": list,
    "array<long>": (list, tuple),
    "array<array<string>>": list,
    "map<string,string>": dict,
    "map<string,long>": dict,
}


def kind_of(record_type) -> str:
    return str(record_type.__struct_config__.tag)


def own_fields(record_type):
    return {field.name: field for field in fields(record_type) if field.name not in ENVELOPE}


def test_the_kinds_are_those_of_the_contract():
    assert [kind_of(kind) for kind in KINDS] == list(CONTRACT["kinds"])
    state = [kind for kind, facts in CONTRACT["kinds"].items() if facts["class"] == "state"]
    assert [kind_of(kind) for kind in STATE_KINDS] == state


def test_version_and_edges_are_those_of_the_contract():
    assert CONTRACT["version"] == CONTRACT_VERSION
    assert CONTRACT["heartbeat_gap_edges_ms"] == list(EDGES_MS)


def test_the_envelope_is_that_of_the_contract():
    assert ENVELOPE | {"kind"} == set(CONTRACT["envelope"])
    assert {field.name for field in fields(Envelope)} == set(CONTRACT["envelope"])


@pytest.mark.parametrize("record_type", KINDS, ids=kind_of)
def test_the_members_are_those_of_the_contract(record_type):
    described = CONTRACT["kinds"][kind_of(record_type)]["fields"]
    members = own_fields(record_type)
    assert list(members) == list(described)
    for name, field in members.items():
        is_required = field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT
        assert is_required == described[name].get("required", False), name


@pytest.mark.parametrize("record_type", KINDS, ids=kind_of)
def test_the_types_are_those_of_the_contract(record_type):
    described = CONTRACT["kinds"][kind_of(record_type)]["fields"]
    for name, hint in get_type_hints(record_type).items():
        if name in described:
            plain = next((arg for arg in get_args(hint) if type(None) in get_args(hint)), hint)
            origin = getattr(plain, "__origin__", plain)
            expected = TYPES[described[name]["type"]]
            assert issubclass(dict if origin.__name__ == "Mapping" else origin, expected), name


@pytest.mark.parametrize("record_type", STATE_KINDS, ids=kind_of)
def test_the_key_of_a_state_kind_is_required(record_type):
    facts = CONTRACT["kinds"][kind_of(record_type)]
    in_rows = {"topic_queues": {"topic"}, "config": {"property"}}.get(kind_of(record_type), set())
    for name in set(facts["key"]) - in_rows:
        assert facts["fields"][name]["required"]


def test_what_has_its_default_is_left_out_but_the_time_since_the_boot():
    line = msgspec.json.encode(ServerAlive(v=1, namesrv="n", boot=1, seq=1, change=1, ts=1))
    assert line == b'{"kind":"server_alive","v":1,"namesrv":"n","boot":1,"seq":1,"change":1,"ts":1,"up_ms":0}'


def test_a_record_knows_its_kind():
    assert ServerStopped(last_seq=1).kind == "server_stopped"


def test_broker_ids_are_text_in_json():
    line = msgspec.json.encode(BrokerGroup(broker_name="b", broker_addrs={0: "a:1"}))
    assert b'"broker_addrs":{"0":"a:1"}' in line
