"""Evidence and routes from rows of tables are those from the journal."""

import msgspec
import pytest

from namekeeper.answers.explain import explain
from namekeeper.answers.from_rows import evidence_from_rows, route_from_rows, state_from_rows
from namekeeper.answers.route import route_of
from namekeeper.journal.reading.replay import state_at
from namekeeper.messages.bodies import encode_mapping
from tests.support.journal.folder import read_records
from tests.unit.answers.story import Story


def rows_of(*evidence):
    """What the tables of the pipeline hold, more columns included."""
    tables = {"name_server_timeline": [], "topic_route": [], "broker_session": [], "unknown_topic_minute": []}
    for one in evidence:
        kinds = (one.periods, one.routes, one.sessions, one.lookups)
        for table, rows in zip(tables.values(), kinds, strict=True):
            table += [{**msgspec.structs.asdict(row), "namesrv": one.namesrv, "load_id": 7} for row in rows]
    return tables


def test_evidence_is_the_same():
    story, other = Story("a"), Story("b")
    story.registers()
    story.wiped()
    story.asked_in_vain()
    story.restarts()
    other.registers()
    evidence = [story.evidence(), other.evidence()]
    found = evidence_from_rows("T", rows_of(*evidence), {one.namesrv: one.knows_up_to for one in evidence})
    assert found == evidence
    assert explain(found) == explain(evidence)


def test_the_order_of_rows_and_a_missing_table_do_not_matter():
    story = Story()
    story.registers()
    story.wiped()
    evidence = story.evidence()
    rows = rows_of(evidence)
    rows["topic_route"].reverse()
    del rows["unknown_topic_minute"]
    assert evidence_from_rows("T", rows, {"ns_9876": evidence.knows_up_to}) == [evidence]


def test_a_name_server_without_rows_knows_nothing():
    (found,) = evidence_from_rows("T", {}, {"ns": 5})
    assert (found.known_from, found.knows_up_to, found.periods) == (None, 5, [])


def test_a_row_that_is_none_is_refused():
    with pytest.raises(msgspec.ValidationError):
        evidence_from_rows("T", {"topic_route": [{"namesrv": "ns", "valid_from": "x"}]}, {"ns": 5})


def test_a_route_is_the_same():
    story = Story()
    mapping = {"T": {"bname": "b0", "topic": "T", "epoch": 3, "currIdMap": {"0": 0}}}
    story.registers(filters=["f:1"], zone="z", acting=True, mappings=mapping)
    story.registers("b1", "a1:1")
    state = state_at(read_records(story.journal.lines())).state
    state.properties["orderMessageEnable"] = "true"
    state.kv["ORDER_TOPIC_CONFIG"] = {"T": "b0:4"}
    assert route_from_rows("T", tables_of(state)) == route_of(state, "T")
    assert route_from_rows("T", {}) is None


def test_a_state_has_the_clusters_too():
    state = state_from_rows({"cluster_history": [{"cluster": "c", "broker_names": ["b0", "b1"]}]})
    assert dict(state.tables.cluster_addr_table) == {"c": {"b0", "b1"}}


def tables_of(state):
    tables = state.tables
    groups = tables.broker_addr_table.values()
    mappings = tables.topic_queue_mapping_info_table["T"].items()
    return {
        "topic_route": [
            {"topic": "T", "broker_name": name, **msgspec.structs.asdict(row.effective)} for name, row in tables.rows_of("T")
        ],
        "broker_group_history": [
            {
                "broker_name": group.broker_name, "cluster": group.cluster, "zone": group.zone_name,
                "acting_master": group.enable_acting_master,
                "members": [{"broker_id": i, "broker_addr": addr} for i, addr in group.broker_addrs.items()],
            }
            for group in groups
        ],
        "filter_server_history": [
            {"cluster": cluster, "broker_addr": addr, "filter_servers": list(servers)}
            for (cluster, addr), servers in tables.filter_server_table.items()
        ],
        "topic_mapping_history": [
            {"topic": "T", "broker_name": name, "mapping": encode_mapping(info, standard=True).decode()}
            for name, info in mappings
        ],
        "kv_history": [{"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "b0:4"}],
        "config_history": [{"property": name, "value": value} for name, value in state.properties.items()],
    }  # fmt: skip
