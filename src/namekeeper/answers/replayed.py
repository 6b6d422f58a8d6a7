"""A whole state as plain values, for JSON."""

from typing import Any

from msgspec import Raw

from namekeeper.journal.reading.state import State
from namekeeper.messages.bodies import encode_mapping
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.tables import RouteTables

__all__ = ["state_value"]


def state_value(state: State) -> dict[str, Any]:
    """Every row of a state; topic rows by topic and broker name."""
    tables = state.tables
    return {
        "brokers": [tables.broker_addr_table[name] for name in sorted(tables.broker_addr_table)],
        "clusters": {name: sorted(names) for name, names in sorted(tables.cluster_addr_table.items())},
        "live": sorted(map(_live, tables.broker_live_table), key=lambda live: live["brokerAddr"]),
        "topics": {topic: _queues(tables, topic) for topic in sorted(tables.topics())},
        "mappings": {
            topic: {name: Raw(encode_mapping(info, standard=True)) for name, info in by_name.items()}
            for topic, by_name in sorted(tables.topic_queue_mapping_info_table.items())
        },
        "filterServers": {addr: servers for (_, addr), servers in sorted(tables.filter_server_table.items())},
        "kv": state.kv,
        "properties": state.properties,
    }


def _queues(tables: RouteTables, topic: str) -> dict[str, Any]:
    return {
        name: {
            "readQueueNums": row.effective.read_queue_nums,
            "writeQueueNums": row.effective.write_queue_nums,
            "perm": row.effective.perm,
            "topicSysFlag": row.effective.topic_sys_flag,
        }
        for name, row in sorted(tables.rows_of(topic))
    }


def _live(live: BrokerLiveInfo) -> dict[str, Any]:
    return {
        "clusterName": live.cluster_name,
        "brokerAddr": live.broker_addr,
        "brokerName": live.broker_name,
        "brokerId": live.broker_id,
        "haServerAddr": live.ha_server_addr,
        "heartbeatTimeoutMillis": live.heartbeat_timeout_ms,
        "dataVersion": live.data_version,
        "gen": live.gen,
        "remoteAddr": "" if live.channel is None else live.channel.remote_addr,
    }
