"""Routes and states from rows of the pipeline's tables, as dictionaries (docs/reference/warehouse.md).

Rows have the columns of the tables. Other columns are ignored, and a missing column counts as null if it can
be null. A route needs the rows of one name server that are valid at the time:

* `topic_route` and `topic_mapping_history` of the topic
* `broker_group_history` of its broker names
* `filter_server_history`
* `kv_history` of ORDER_TOPIC_CONFIG
* `config_history`

For a whole state, all rows of these tables that are valid at the time, those of `topic_route` by broker name,
and those of `cluster_history`. It has no live registrations.
"""

from collections.abc import Iterable, Mapping

from namekeeper.answers.route import route_of
from namekeeper.history.sources.warehouse import Tables
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
from namekeeper.journal.contract.table_row import record_of
from namekeeper.journal.reading.state import State
from namekeeper.model.route import TopicRouteData

__all__ = ["route_from_rows", "state_from_rows"]


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
        members = {each["broker_id"]: each["broker_addr"] for each in row.get("members") or ()}
        yield record_of(BrokerGroup, {**row, "broker_addrs": members})
    for table, kind in _KINDS.items():
        for row in tables.get(table, ()):
            yield record_of(kind, row)


_KINDS: Mapping[str, type[Record]] = {
    "cluster_history": Cluster,
    "topic_route": TopicQueues,
    "topic_mapping_history": TopicMapping,
    "filter_server_history": FilterServers,
    "kv_history": Kv,
    "config_history": Config,
}
"""Tables that have the fields of a record."""
