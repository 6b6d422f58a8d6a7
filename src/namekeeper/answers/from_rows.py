"""Evidence and routes from rows of the pipeline's tables, as dictionaries (docs/reference/warehouse.md).

Rows have the columns of the tables; other columns than these are ignored, and a missing column counts as null
if it can be null. What each table must give:

- `name_server_timeline`: namesrv, valid_from, valid_to, state, boot: every period of the name servers.
- `topic_route`: namesrv, broker_name, topic, read_queue_nums, write_queue_nums, perm, topic_sys_flag,
  valid_from, valid_to, from_cause, from_peer, ended_by, to_cause, to_peer, reason: every row of the topic.
- `broker_session`: namesrv, cluster, broker_addr, broker_name, broker_id, boot, gen, valid_from, valid_to,
  from_cause, from_peer, ended_by, to_cause, to_peer, reason, idle_ms: at least those that overlap the boot
  of the time in question and the boot before it.
- `unknown_topic_minute`: namesrv, minute, language, client_version, count: of the topic, an hour back.

For a route, the rows of one name server that are valid at the time: `topic_route` of the topic;
`broker_group_history` (broker_name, cluster, zone, acting_master, members as a list of {broker_id,
broker_addr}) of those broker names; `filter_server_history` (cluster, broker_addr, filter_servers);
`topic_mapping_history` (topic, broker_name, mapping as JSON text) of the topic; `kv_history` (namespace, key,
value) of ORDER_TOPIC_CONFIG; `config_history` (property, value).

For a whole state, all rows of these tables that are valid at the time, those of `topic_route` by broker name,
and those of `cluster_history` (cluster, broker_names). It has no live registrations.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from namekeeper.answers.evidence import BrokerSession, Evidence, KnownPeriod, Lookups, TopicRoute
from namekeeper.answers.route import route_of
from namekeeper.journal.contract.record import (
    BrokerGroup,
    Cluster,
    Config,
    FilterServers,
    Kv,
    Record,
    TopicMapping,
    TopicQueues,
)
from namekeeper.journal.reading.state import State
from namekeeper.model.route import TopicRouteData

__all__ = ["Row", "Tables", "evidence_from_rows", "route_from_rows", "state_from_rows"]

Row = Mapping[str, Any]
Tables = Mapping[str, Iterable[Row]]
"""Name of a table -> its rows; a missing table has none."""


def evidence_from_rows(topic: str, tables: Tables, knows_up_to: Mapping[str, int]) -> list[Evidence]:
    """Evidence about a topic at each name server.

    Args:
        topic: the topic.
        tables: rows as described above.
        knows_up_to: name server -> wall ms of its last record in the tables; evidence is made for these.
    """
    return [_evidence(namesrv, topic, tables, knows_up_to[namesrv]) for namesrv in sorted(knows_up_to)]


def route_from_rows(topic: str, tables: Tables) -> TopicRouteData | None:
    """The route of a topic as the name server of these rows would have answered it."""
    return route_of(state_from_rows(tables), topic)


def state_from_rows(tables: Tables) -> State:
    """The state that the rows of one name server make."""
    state = State()
    state.apply(_records(tables))
    return state


def _evidence(namesrv: str, topic: str, tables: Tables, knows_up_to: int) -> Evidence:
    def rows_of(table: str) -> list[Row]:
        return [row for row in tables.get(table, ()) if row["namesrv"] == namesrv]

    periods = sorted(
        msgspec.convert(rows_of("name_server_timeline"), list[KnownPeriod]), key=lambda each: each.valid_from
    )
    routes = msgspec.convert(rows_of("topic_route"), list[TopicRoute])
    return Evidence(
        namesrv=namesrv,
        topic=topic,
        known_from=periods[0].valid_from if periods else None,
        knows_up_to=knows_up_to,
        periods=periods,
        routes=sorted(routes, key=lambda route: route.valid_from),
        sessions=msgspec.convert(rows_of("broker_session"), list[BrokerSession]),
        lookups=msgspec.convert(rows_of("unknown_topic_minute"), list[Lookups]),
    )


def _records(tables: Tables) -> Iterable[Record]:
    """The rows as the records that would make them."""
    for row in tables.get("broker_group_history", ()):
        yield BrokerGroup(
            broker_name=row["broker_name"],
            cluster=row.get("cluster") or "",
            zone=row.get("zone"),
            acting_master=bool(row.get("acting_master")),
            broker_addrs={each["broker_id"]: each["broker_addr"] for each in row.get("members") or ()},
        )
    for row in tables.get("cluster_history", ()):
        yield Cluster(cluster=row["cluster"], broker_names=list(row["broker_names"] or ()))
    for row in tables.get("topic_route", ()):
        queues = (row["read_queue_nums"], row["write_queue_nums"], row["perm"], row["topic_sys_flag"])
        yield TopicQueues(broker_name=row["broker_name"], rows=[(row["topic"], *queues)])
    for row in tables.get("topic_mapping_history", ()):
        mapping = Raw(row["mapping"].encode())
        yield TopicMapping(topic=row["topic"], broker_name=row["broker_name"], mapping=mapping)
    for row in tables.get("filter_server_history", ()):
        servers = list(row["filter_servers"] or ())
        yield FilterServers(cluster=row["cluster"], broker_addr=row["broker_addr"], filter_servers=servers)
    for row in tables.get("kv_history", ()):
        yield Kv(namespace=row["namespace"], key=row["key"], value=row.get("value") or "")
    for row in tables.get("config_history", ()):
        yield Config(properties={row["property"]: row.get("value") or ""})
