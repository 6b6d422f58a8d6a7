"""Routes and states from rows of the pipeline's tables, as dictionaries (docs/reference/warehouse.md).

Rows have the columns of the tables; other columns than these are ignored, and a missing column counts as null
if it can be null. For a route, the rows of one name server that are valid at the time: `topic_route` of the
topic; `broker_group_history` (broker_name, cluster, zone, acting_master, members as a list of {broker_id,
broker_addr}) of those broker names; `filter_server_history` (cluster, broker_addr, filter_servers);
`topic_mapping_history` (topic, broker_name, mapping as JSON text) of the topic; `kv_history` (namespace, key,
value) of ORDER_TOPIC_CONFIG; `config_history` (property, value).

For a whole state, all rows of these tables that are valid at the time, those of `topic_route` by broker name,
and those of `cluster_history` (cluster, broker_names). It has no live registrations.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Raw

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

__all__ = ["Row", "Tables", "route_from_rows", "state_from_rows"]

Row = Mapping[str, Any]
Tables = Mapping[str, Iterable[Row]]
"""Name of a table -> its rows; a missing table has none."""


def route_from_rows(topic: str, tables: Tables) -> TopicRouteData | None:
    """The route of a topic as the name server of these rows would have answered it."""
    return route_of(state_from_rows(tables), topic)


def state_from_rows(tables: Tables) -> State:
    """The state that the rows of one name server make."""
    state = State()
    state.apply(_records(tables))
    return state


def _records(tables: Tables) -> Iterable[Record]:
    """The records that would make the rows."""
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
