"""What must hold for route tables at any time, and their content as plain values."""

from collections import defaultdict
from typing import Any

from namekeeper.common.slices import run_slices
from namekeeper.messages.bodies import encode_mapping, encode_topic_route
from namekeeper.processor.state import NameServerState
from namekeeper.route.fingerprint import fingerprints
from namekeeper.route.tables import RouteTables
from namekeeper.wire.codec import encode_response
from namekeeper.wire.command import request
from namekeeper.wire.json_header import encode_json_header
from tests.support.java_model.tables import JavaTables
from tests.support.java_model.values import from_json
from tests.support.server.reading import read, whole

__all__ = [
    "check_cached_routes", "check_clusters", "check_fingerprints", "check_index", "check_live_indexes", "check_look_up_cache", "check_members",
    "contents", "model_contents",
]  # fmt: skip


def contents(tables: RouteTables) -> dict[str, Any]:
    """Return everything that the tables hold, but for connections and times."""
    topics: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, rows in tables.topic_queue_table.items():
        for topic, row in rows.items():
            topics[topic][name] = (_spec(row.effective), _spec(row.registered))
    groups = tables.broker_addr_table.values()
    mappings = tables.topic_queue_mapping_info_table.items()
    return {
        "topics": dict(topics),
        "groups": {
            g.broker_name: (g.cluster, g.broker_addrs, g.enable_acting_master, g.zone_name) for g in groups
        },
        "clusters": {cluster: set(names) for cluster, names in tables.cluster_addr_table.items()},
        "live": {live.key: _live(live) for live in tables.broker_live_table},
        "filters": {key: list(servers) for key, servers in tables.filter_server_table.items()},
        "mappings": {
            topic: {name: from_json(encode_mapping(info, standard=False)) for name, info in by_name.items()}
            for topic, by_name in mappings
        },
    }


def model_contents(model: JavaTables) -> dict[str, Any]:
    """Return the same of the model."""
    live = model.live.items()
    return {
        "topics": {
            topic: {name: (tuple(row[:4]), row.registered) for name, row in rows.items()}
            for topic, rows in model.topics.items()
        },
        "groups": {name: (g.cluster, g.addrs, g.acting, g.zone) for name, g in model.groups.items()},
        "clusters": model.clusters,
        "live": {key: (e.name, e.broker_id, e.ha, e.timeout_ms, tuple(e.version), e.gen) for key, e in live},
        "filters": model.filters,
        "mappings": model.mappings,
    }


def check_fingerprints(tables: RouteTables, seen: dict[str, dict[str, int]]) -> None:
    """A part of the tables has one fingerprint, and no other content has it; `seen` keeps those found so far."""
    found = contents(tables)
    groups = {name: group[:2] for name, group in found["groups"].items()}
    topics = {(topic, name): row[0] for topic, rows in found["topics"].items() for name, row in rows.items()}
    clusters = {cluster: sorted(names) for cluster, names in found["clusters"].items()}
    parts = {
        "brokers": (groups, clusters, found["filters"]),
        "topics": (topics, found["mappings"]),
        "kv": (),
    }
    for part, number in run_slices(fingerprints(tables, {})).items():
        by_content = seen.setdefault(part, {})
        by_content.setdefault(_in_order(parts[part]), number)
        assert by_content[_in_order(parts[part])] == number
        assert len(set(by_content.values())) == len(by_content)


def _in_order(value: Any) -> str:
    """The text of a value in which the order of keys makes no difference."""
    if isinstance(value, dict):
        return repr(sorted((repr(key), _in_order(each)) for key, each in value.items()))
    if isinstance(value, tuple):
        return repr([_in_order(each) for each in value])
    return repr(value)


def check_index(tables: RouteTables, *, is_idle: bool) -> None:
    """The index lacks no name that has a topic; when nothing is under way it names no other either."""
    assert tables.topic_rows == sum(map(len, tables.topic_queue_table.values()))
    mappings = [each for names in tables.topic_queue_mapping_info_table.values() for each in names.values()]
    servers = sum(map(len, tables.filter_server_table.values()))
    assert tables.other_rows == servers + sum(1 + len(each.curr_id_map) for each in mappings)
    having: dict[str, set[str]] = defaultdict(set)
    for name, rows in tables.topic_queue_table.items():
        assert rows, f"an empty table is kept for {name}"
        for topic in rows:
            having[topic].add(name)
    for topic, names in having.items():
        assert names <= set(tables.topic_index.names(topic))
    if is_idle:
        assert {topic: set(tables.topic_index.names(topic)) for topic in tables.topic_index} == having


def check_live_indexes(tables: RouteTables) -> None:
    """Both indexes of the live table hold each registration once, under what it says itself."""
    by_name, by_channel = defaultdict(set), defaultdict(set)
    for live in tables.broker_live_table:
        by_name[live.broker_name].add(live.key)
        by_channel[live.channel_id].add(live.key)
        assert live.channel is not None
        assert live.channel.channel_id == live.channel_id
    table = tables.broker_live_table
    assert {name: set(rows) for name, rows in table._by_name.items()} == by_name
    assert {channel: set(rows) for channel, rows in table._by_channel.items()} == by_channel


def check_members(tables: RouteTables) -> None:
    """One live registration stands behind each member of a group, and nothing else; filter servers are a live one's."""
    members = {
        (name, broker_id, addr)
        for name, group in tables.broker_addr_table.items()
        for broker_id, addr in group.broker_addrs.items()
    }
    live = [(entry.broker_name, entry.broker_id, entry.broker_addr) for entry in tables.broker_live_table]
    assert sorted(live) == sorted(members)
    assert tables.filter_server_table.keys() <= {entry.key for entry in tables.broker_live_table}


def check_clusters(tables: RouteTables) -> None:
    """Clusters name groups that are there, and every group is named by some cluster; rows belong to groups."""
    named = set().union(*tables.cluster_addr_table.values())
    assert named == tables.broker_addr_table.keys()
    assert tables.topic_queue_table.keys() <= named
    assert all(tables.cluster_addr_table.values())


def check_cached_routes(state: NameServerState, topics: list[str]) -> None:
    """A kept answer is what a fresh encoding gives, in both forms."""
    for topic in topics:
        route = state.route_answers.route(topic)
        for standard in (True, False):
            kept = whole(state.route_answers.get(topic, standard))
            fresh = None if route is None else encode_topic_route(route, standard=standard)
            assert (kept.body if kept is not None and not kept.code else None) == fresh


def check_look_up_cache(state: NameServerState, topics: list[str]) -> None:
    """What the look-up cache answers is what the handler would; then it learns what it did not know."""
    cache = state.lookup_cache
    for fields, version in (({}, 513), ({}, 373), ({"__ZONE_MODE": "true", "__ZONE_NAME": "z"}, 513)):
        for topic in topics:
            asked = request(105, {"topic": topic, **fields}, opaque=7, version=version)
            header, answer = encode_json_header(asked), read(state, asked)
            found = cache.find(header)
            assert found in {None, encode_response(answer, opaque=7)}
            if not answer.code:
                cache.learn(header, 7, topic=topic, body=answer.body, revision=cache.revision)


def _spec(spec: Any) -> tuple[int, ...]:
    return (spec.read_queue_nums, spec.write_queue_nums, spec.perm, spec.topic_sys_flag)


def _live(live: Any) -> tuple[Any, ...]:
    version = live.data_version
    return (
        live.broker_name, live.broker_id, live.ha_server_addr, live.heartbeat_timeout_ms,
        (version.timestamp, version.counter, version.state_version), live.gen,
    )  # fmt: skip
