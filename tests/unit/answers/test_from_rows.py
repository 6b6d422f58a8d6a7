"""Routes from rows of tables are those from the journal."""

import msgspec

from namekeeper.answers.from_rows import route_from_rows, state_from_rows
from namekeeper.answers.route import route_of
from namekeeper.journal.reading.replay import state_at
from namekeeper.messages.bodies import encode_mapping
from tests.support.journal.folder import read_records
from tests.unit.answers.story import Story


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
