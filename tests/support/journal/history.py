"""Histories made of records, and the rows of a state as a history has them: the oracle."""

from collections.abc import Iterable, Mapping

from msgspec import Raw

from namekeeper.history.history import History
from namekeeper.history.rows import (
    AnyKey,
    FilterKey,
    GroupKey,
    HistoryEvent,
    LiveKey,
    MappingKey,
    Row,
    Rows,
    TopicKey,
)
from namekeeper.journal.contract.record import (
    BrokerGroup,
    BrokerLive,
    FilterServers,
    TopicMapping,
    TopicQueuesRow,
)
from namekeeper.journal.reading.history import FoundRecord, Step, steps
from namekeeper.journal.reading.state import State
from namekeeper.messages.bodies import encode_mapping

__all__ = ["fold", "history_from", "history_of", "rows_of"]


def history_of(namesrv: str, records: Iterable[FoundRecord], about: str | None = None) -> History:
    return history_from(namesrv, steps(records, Rows), about)


def history_from(namesrv: str, found: Iterable[Step], about: str | None = None) -> History:
    """The history that some steps make, whose checkpoints have `Rows`."""
    history = History(namesrv, about)
    for step in found:
        history.take(step)
    return history


def rows_of(state: State) -> dict[AnyKey, Row]:
    """Every row of a state, but those of the KV configuration and the properties."""
    tables = state.tables
    rows: dict[AnyKey, Row] = {}
    for live in tables.broker_live_table:
        version = live.data_version
        rows[LiveKey(live.cluster_name, live.broker_addr)] = BrokerLive(
            cluster=live.cluster_name,
            broker_addr=live.broker_addr,
            broker_name=live.broker_name,
            broker_id=live.broker_id,
            gen=live.gen,
            ha_server_addr=live.ha_server_addr,
            data_version=(version.state_version, version.timestamp, version.counter),
        )
    for name, group in tables.broker_addr_table.items():
        rows[GroupKey(name)] = BrokerGroup(
            broker_name=name,
            cluster=group.cluster,
            zone=group.zone_name,
            acting_master=group.enable_acting_master,
            broker_addrs=group.broker_addrs,
        )
    for name, by_topic in tables.topic_queue_table.items():
        for topic, row in by_topic.items():
            queues = row.effective
            rows[TopicKey(topic, name)] = TopicQueuesRow(
                topic,
                queues.read_queue_nums,
                queues.write_queue_nums,
                queues.perm,
                queues.topic_sys_flag,
            )
    for topic, infos in tables.topic_queue_mapping_info_table.items():
        for name, info in infos.items():
            text = Raw(encode_mapping(info, standard=True))
            rows[MappingKey(topic, name)] = TopicMapping(topic=topic, broker_name=name, mapping=text)
    for (cluster, addr), servers in tables.filter_server_table.items():
        rows[FilterKey(cluster, addr)] = FilterServers(
            cluster=cluster, broker_addr=addr, filter_servers=list(servers)
        )
    return rows


def fold(rows: Mapping[AnyKey, Row], events: Iterable[HistoryEvent]) -> dict[AnyKey, Row]:
    """The rows after some events."""
    now = dict(rows)
    for event in events:
        for row in event.rows:
            if row.after is None:
                now.pop(row.key, None)
            else:
                now[row.key] = row.after
    return now
