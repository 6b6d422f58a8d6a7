"""The commit of a registration; the numbers are the steps of protocol.md 4.4."""

from collections.abc import Mapping

from msgspec import Struct, structs

from namekeeper.model.broker import MASTER_ID, BrokerData, Owner
from namekeeper.model.registration import RegisterBrokerHeader, RegistrationBody
from namekeeper.model.version import DataVersion
from namekeeper.route.assessment import Assessment, addrs_without_other_ids
from namekeeper.route.broker_names import NO_NAMES, BrokerNames
from namekeeper.route.change import Edit
from namekeeper.route.channel import Channel
from namekeeper.route.events import (
    BrokerGroupChanged,
    BrokerLiveChanged,
    Cause,
    ClusterChanged,
    FilterServersChanged,
    MinBrokerIdChanged,
    TopicMappingChanged,
    TopicQueuesChanged,
    TopicRow,
)
from namekeeper.route.live import BrokerLiveInfo
from namekeeper.route.removal import end_live, end_mappings, is_orphan, leave_group
from namekeeper.route.tables import RouteTables

__all__ = ["Built", "Commit", "RegisterResult", "master_of", "put_live"]


class RegisterResult(Struct, frozen=True):
    """The result of a registration, for the answer (protocol.md 2.10)."""

    master_addr: str | None = None
    ha_server_addr: str | None = None
    is_refused: bool = False
    """True if a limit refused it (code 1), or `takeover` did (code 16)."""
    limit: str = ""
    """The limit, in words."""
    takeover: str = ""
    """The live broker of another host that it would have replaced, in words."""
    outcome: str = "unchanged"
    """For the metrics: new, changed, unchanged, short_cut, stale, refused, closed."""


class Built(Struct):
    """Rows built beside the tables."""

    before: Mapping[str, TopicRow]
    after: dict[str, TopicRow]
    changed: list[str] = []
    """Topics whose row changed, is new, or is gone."""
    added: list[str] = []
    """Topics that this build entered into the index."""
    topics_revision: int = 0
    """`topics_revision` of the tables before the first lookup of a topic in the index."""
    unseen: int = 0
    """Number of added topics that no broker name had in the index before."""
    missing: list[str] = []
    """With `deleteTopicWithBrokerRegistration`: topics that are not among the keys of the body."""

    def gone(self) -> list[str]:
        """Topics that the broker name loses. A value of the body may name a topic that is no key of it."""
        return [topic for topic in self.missing if topic not in self.after]


class Commit:
    """The commit of one registration that was not skipped."""

    def __init__(
        self,
        edit: Edit,
        header: RegisterBrokerHeader,
        channel: Channel,
        *,
        owner: Owner,
        body: RegistrationBody,
        assessment: Assessment,
    ) -> None:
        self._edit = edit
        self._tables = edit.tables
        self._header = header
        self._key = (header.cluster_name, header.broker_addr)
        self._channel = channel
        self._owner = owner
        self._body = body
        self._assessment = assessment

    def make_visible(self, built: Built | None) -> RegisterResult:
        """Run all steps of protocol.md 4.4 at once; a refused registration changes nothing, unlike Java's."""
        tables, header, assessment = self._tables, self._header, self._assessment
        if assessment.is_refused:
            return _refusal(assessment)
        self._leave_other_name()
        self._join_cluster()
        group_before = tables.broker_addr_table.get(header.broker_name)
        group = self._group_after(group_before)
        if group != group_before:
            self._edit.apply(BrokerGroupChanged(group))
        if assessment.is_stale:
            self._end_without_id(group)
            return RegisterResult(outcome="stale")
        was_live = tables.broker_live_table.get(self._key) is not None
        self._end_replaced(group_before)
        put_live(
            self._edit,
            header,
            self._channel,
            owner=self._owner,
            data_version=self._body.data_version,
            body_bytes=self._body.wire_bytes,
        )
        self._show_topics(built)
        self._put_mappings()
        self._put_filter_servers()
        self._notify_min_id(group_before, group)
        changed = bool(built and built.changed)
        outcome = "new" if not was_live else ("changed" if changed else "unchanged")
        return structs.replace(master_of(tables, header), outcome=outcome)

    def _leave_other_name(self) -> None:
        """An address has one name: registering under another one removes it from the old group."""
        live = self._tables.broker_live_table.get(self._key)
        if live is not None and live.broker_name != self._header.broker_name:
            leave_group(self._edit, live.broker_name, live.broker_addr, Cause.REPLACED)

    def _join_cluster(self) -> None:
        """Step 1: add the broker name to its cluster."""
        cluster_name, broker_name = self._header.cluster_name, self._header.broker_name
        names = self._tables.cluster_addr_table.get(cluster_name, NO_NAMES)
        if broker_name not in names:
            self._edit.apply(ClusterChanged(cluster_name, BrokerNames.of(names).with_name(broker_name)))

    def _group_after(self, group: BrokerData | None) -> BrokerData:
        """Steps 2, 3, 5 and, unless stale, 9."""
        header = self._header
        addrs = addrs_without_other_ids(group, header)
        if not self._assessment.is_stale:
            addrs[header.broker_id] = header.broker_addr
        if group is not None and self._assessment.keeps_zone_and_acting_master:
            return structs.replace(group, broker_addrs=addrs)
        return BrokerData(
            cluster=header.cluster_name if group is None else group.cluster,
            broker_name=header.broker_name,
            broker_addrs=addrs,
            enable_acting_master=bool(header.enable_acting_master),
            zone_name=header.zone_name,
        )

    def _end_without_id(self, group: BrokerData) -> None:
        """End the registrations of a stale address that step 5 took out of the group."""
        for live in self._tables.broker_live_table.of_name(group.broker_name):
            if live.broker_addr not in group.broker_addrs.values():
                end_live(self._edit, live, Cause.STALE)

    def _end_replaced(self, group_before: BrokerData | None) -> None:
        """End the address that lost its id to this one, and this one's registration in another cluster."""
        header = self._header
        held_by = None if group_before is None else group_before.broker_addrs.get(header.broker_id)
        for live in self._tables.broker_live_table.of_name(header.broker_name):
            if live.key != self._key and live.broker_addr in (held_by, header.broker_addr):
                end_live(self._edit, live, Cause.REPLACED)

    def _show_topics(self, built: Built | None) -> None:
        if built is not None and built.changed:
            event = TopicQueuesChanged(
                self._header.broker_name,
                built.before,
                built.after,
                tuple(built.changed),
                are_new=built.unseen == len(built.changed)
                and built.topics_revision == self._tables.topics_revision,
            )
            self._edit.apply(event, updates_index=False)
            end_mappings(self._edit, built.gone(), self._header.broker_name)

    def _put_mappings(self) -> None:
        """Step 13; a mapping that was deleted with its topic comes back with it, with any version.

        Brokers send mappings of their own name. A mapping of another name that is an orphan already would
        stay for ever. Where names are protected, it belongs to the broker of that name.
        """
        if not self._assessment.contributes:
            return
        table = self._tables.topic_queue_mapping_info_table
        for topic, mapping in self._body.mappings.items():
            if mapping.bname != self._header.broker_name and (
                self._tables.rules.protect_broker_names or is_orphan(self._tables, topic, mapping.bname)
            ):
                continue
            current = table.get(topic, {}).get(mapping.bname)
            if current is None or (self._assessment.upsert_all and current != mapping):
                self._edit.apply(TopicMappingChanged(topic, mapping.bname, mapping))

    def _put_filter_servers(self) -> None:
        """Step 15: store the filter servers of the broker, if they have changed."""
        filter_servers = self._body.filter_servers
        if filter_servers is None:
            return
        if self._tables.filter_server_table.get(self._key, ()) != filter_servers:
            self._edit.apply(FilterServersChanged(*self._key, filter_servers))

    def _notify_min_id(self, before: BrokerData | None, group: BrokerData) -> None:
        """Steps 4 and 17: the previous minimum of an empty group counts as 0 (protocol.md 2.15)."""
        previous = min(before.broker_addrs, default=0) if before is not None else 0
        if not self._tables.rules.notify_min_broker_id_changed or self._header.broker_id >= previous:
            return
        smallest = min(group.broker_addrs)
        others = tuple(addr for broker_id, addr in group.broker_addrs.items() if broker_id != smallest)
        self._edit.apply(
            MinBrokerIdChanged(
                broker_name=group.broker_name,
                min_broker_id=smallest,
                min_broker_addr=group.broker_addrs[smallest],
                recipients=others or tuple(group.broker_addrs.values()),
                ha_broker_addr=self._header.ha_server_addr,
            )
        )


def put_live(
    edit: Edit,
    header: RegisterBrokerHeader,
    channel: Channel,
    *,
    owner: Owner,
    data_version: DataVersion,
    body_bytes: int,
) -> None:
    """Step 14: start a new generation, change the live entry, or refresh it."""
    tables, key = edit.tables, (header.cluster_name, header.broker_addr)
    live = tables.broker_live_table.get(key)
    is_new = live is None or not live.is_continued_by(header, channel)
    if live is not None and not is_new and _has_recorded(live, header, data_version, owner):
        edit.apply(live.heard(edit.now, is_registration=True, body_bytes=body_bytes))
        return
    event = BrokerLiveChanged(
        cluster_name=header.cluster_name,
        broker_addr=header.broker_addr,
        broker_name=header.broker_name,
        broker_id=header.broker_id,
        ha_server_addr=header.ha_server_addr,
        heartbeat_timeout_ms=header.heartbeat_timeout_ms,
        data_version=data_version,
        channel_id=channel.channel_id,
        remote_addr=channel.remote_addr,
        gen=tables.gen + 1 if live is None or is_new else live.gen,
        is_new=is_new,
        gap_ms=0 if live is None or is_new else live.gap_ms(edit.now),
        body_bytes=body_bytes,
        owner=owner,
    )
    edit.apply(event, channel)


def master_of(tables: RouteTables, header: RegisterBrokerHeader) -> RegisterResult:
    """Step 16: the answer to a slave names its master if that master is live."""
    group = tables.broker_addr_table.get(header.broker_name)
    if header.broker_id == MASTER_ID or group is None:
        return RegisterResult()
    master_addr = group.broker_addrs.get(MASTER_ID)
    if master_addr is None:
        return RegisterResult()
    master = tables.broker_live_table.get((header.cluster_name, master_addr))
    if master is None:
        return RegisterResult()
    return RegisterResult(master_addr=master_addr, ha_server_addr=master.ha_server_addr)


def _has_recorded(
    live: BrokerLiveInfo, header: RegisterBrokerHeader, data_version: DataVersion, owner: Owner
) -> bool:
    return (
        live.data_version == data_version
        and live.owner == owner
        and live.ha_server_addr == header.ha_server_addr
        and live.heartbeat_timeout_ms == header.heartbeat_timeout_ms
    )


def _refusal(assessment: Assessment) -> RegisterResult:
    return RegisterResult(
        is_refused=True, limit=assessment.limit, takeover=assessment.takeover, outcome="refused"
    )
