"""The assessment of a registration: its effect on the tables as they are now (protocol.md 4.4)."""

from collections.abc import Mapping

from msgspec import Struct

from namekeeper.model.broker import MASTER_ID, BrokerData
from namekeeper.model.registration import RegisterBrokerHeader, RegistrationBody
from namekeeper.route.broker_names import NO_NAMES
from namekeeper.route.tables import RouteTables, rows_of_mapping
from namekeeper.route.takeover import Claimant, keeps_zone_and_acting_master, taken_over

__all__ = [
    "Assessment",
    "addrs_without_other_ids",
    "assess",
    "has_all_topics",
    "is_prime",
    "topic_rows_reached",
]


class Assessment(Struct, frozen=True):
    """The effect of a registration on the tables. Another assessment makes the build start again."""

    is_stale: bool
    """Step 7: a newer state of the same broker id is live under another address."""
    contributes: bool
    """Step 10: the tables take its topics over: it is the master, or the prime slave of a 5.x group."""
    upsert_all: bool
    """Step 12: take every topic over, not only those that are missing or differ."""
    strip_write: bool
    """Step 12: a slave that acts as master offers no queues to write to."""
    delete_missing: bool
    """Step 11: delete topics that the body lacks; a single topic may not be the complete list (step 8)."""
    limit: str = ""
    """The operator's limit that the registration would exceed, in words; empty if none."""
    takeover: str = ""
    """The live broker of another host that the registration would replace, in words; empty if none."""
    keeps_zone_and_acting_master: bool = False
    """Whether zone and acting master of the group stay as they are (protectBrokerNames)."""

    @property
    def is_refused(self) -> bool:
        """Whether the server answers with an error and changes nothing."""
        return bool(self.limit or self.takeover)


def assess(
    tables: RouteTables,
    header: RegisterBrokerHeader,
    body: RegistrationBody,
    sender: Claimant | None = None,
) -> Assessment:
    """Assess a registration on the tables as they are now, without a change.

    Args:
        tables: the tables to read.
        header: the identity that the registration claims.
        body: its topics.
        sender: the sender of the request; None may replace any broker.
    """
    group = tables.broker_addr_table.get(header.broker_name)
    addrs = addrs_without_other_ids(group, header)
    held_by = addrs.get(header.broker_id)
    is_first = held_by is None
    live = tables.broker_live_table.get((header.cluster_name, header.broker_addr))
    version_differs = live is None or live.data_version != body.data_version
    is_stale = _is_stale(tables, held_by, header, body)
    takeover = taken_over(tables, header, sender)
    is_stale = is_stale and not takeover
    limit = "" if is_stale or takeover else _limit_reached(tables, header, addrs, body)
    is_prime_slave = is_prime(header, addrs)
    takes_part = not (is_stale or takeover or limit)
    is_known = live is not None and live.is_same_member(header.broker_name, header.broker_id)
    is_full = has_all_topics(body) or (live is not None and is_known and live.has_full_table)
    contributes = takes_part and (header.broker_id == MASTER_ID or is_prime_slave)
    return Assessment(
        is_stale=is_stale,
        contributes=contributes,
        upsert_all=is_first or version_differs,
        strip_write=is_prime_slave and header.enable_acting_master is True,
        delete_missing=contributes
        and tables.rules.delete_topic_with_broker_registration
        and not body.mappings
        and is_full,
        limit=limit,
        takeover=takeover,
        keeps_zone_and_acting_master=keeps_zone_and_acting_master(tables, header, sender),
    )


def is_prime(header: RegisterBrokerHeader, addrs: Mapping[int, str]) -> bool:
    """Whether this is the prime slave: the smallest id of a 5.x group without a master (step 10)."""
    return (
        header.enable_acting_master is not None
        and header.broker_id != MASTER_ID
        and header.broker_id == min([*addrs, header.broker_id])
    )


def has_all_topics(body: RegistrationBody) -> bool:
    """Whether a registration may hold all topics of a broker, or a part of them (step 8).

    A broker sends one topic when that topic has changed.
    """
    return body.topic_count != 1


def addrs_without_other_ids(group: BrokerData | None, header: RegisterBrokerHeader) -> dict[int, str]:
    """Step 5: an address has one id (slave switched to master, or back)."""
    if group is None:
        return {}
    return {
        broker_id: addr
        for broker_id, addr in group.broker_addrs.items()
        if addr != header.broker_addr or broker_id == header.broker_id
    }


def _limit_reached(
    tables: RouteTables, header: RegisterBrokerHeader, addrs: Mapping[int, str], body: RegistrationBody
) -> str:
    """The limit that a new cluster, name, id or topic would exceed; existing entries are never refused."""
    rules = tables.rules
    names = tables.cluster_addr_table.get(header.cluster_name, NO_NAMES)
    if not names and 0 < rules.cluster_names_limit <= len(tables.cluster_addr_table):
        return f"there are {rules.cluster_names_limit} clusters (clusterNamesLimit)"
    if header.broker_name not in names and 0 < rules.broker_names_limit <= tables.memberships:
        return f"there are {rules.broker_names_limit} broker names (brokerNamesLimit)"
    live = tables.broker_live_table
    if (header.cluster_name, header.broker_addr) not in live and 0 < rules.brokers_limit <= len(live):
        return f"there are {rules.brokers_limit} brokers (brokersLimit)"
    if header.broker_id not in addrs and 0 < rules.broker_ids_limit <= len(addrs):
        return f"the broker name has {rules.broker_ids_limit} brokers (brokerIdsLimit)"
    if tables.is_full and _adds_rows(tables, header, body):
        return topic_rows_reached(rules.topic_rows_limit)
    return ""


def _adds_rows(tables: RouteTables, header: RegisterBrokerHeader, body: RegistrationBody) -> bool:
    """Whether a registration has topics, logical queues or filter servers that the tables lack."""
    if not body.topics.keys() <= tables.topics_of(header.broker_name).keys():
        return True
    filter_servers = tables.filter_server_table.get((header.cluster_name, header.broker_addr), ())
    if len(body.filter_servers or ()) > len(filter_servers):
        return True
    mappings = tables.topic_queue_mapping_info_table
    return any(
        rows_of_mapping(mapping) > rows_of_mapping(mappings.get(topic, {}).get(mapping.bname))
        for topic, mapping in body.mappings.items()
    )


def topic_rows_reached(limit: int) -> str:
    """The refusal of a peer that adds a topic beyond the limit, in words."""
    return f"there are {limit} topics, counted for each broker name (topicRowsLimit)"


def _is_stale(
    tables: RouteTables, held_by: str | None, header: RegisterBrokerHeader, body: RegistrationBody
) -> bool:
    if held_by is None or held_by == header.broker_addr:
        return False
    holder = tables.broker_live_table.get((header.cluster_name, held_by))
    return holder is not None and holder.data_version.state_version > body.data_version.state_version
