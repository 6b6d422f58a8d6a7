"""Computes which topics would remain if brokers were gone: a pure function of a snapshot.

Load is a share: producers send the messages of a topic to its writable queues in turn, so each of n queues
has 1/n of them. A name server doesn't know how many messages a topic has, so all topics count the same.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, structs

from namekeeper.admin.snapshot import NamesrvSnapshot
from namekeeper.common.writable import is_writable
from namekeeper.model.broker import MASTER_ID, BrokerData

__all__ = ["Gone", "TopicLeft", "WhatIf", "brokers_in_zones", "what_if"]

Brokers = Mapping[str, BrokerData]


class Gone(Struct, frozen=True):
    """The brokers that are taken away."""

    broker_names: frozenset[str] = frozenset()
    """Broker names taken away with all members."""
    addresses: frozenset[str] = frozenset()
    """Single members, `host:port`; a broker name whose master goes can't be written."""


class TopicLeft(Struct, frozen=True):
    """A topic that loses writable broker names."""

    topic: str
    before: list[str]
    """Broker names with a writable queue of it."""
    after: list[str]
    """The broker names that remain."""


class WhatIf(Struct, frozen=True):
    """The topics and brokers that the loss would hurt; topics by name."""

    namesrv: str
    gone: list[str]
    """Addresses that are taken away."""
    topics: int
    """Topics that can be written now."""
    unwritable: list[TopicLeft]
    """Topics without a remaining writable queue."""
    on_one_broker: list[TopicLeft]
    """Topics that are writable on several broker names now, and on only one then."""
    overloaded: dict[str, float]
    """Broker name -> its load as a multiple of today's, if that is above the limit; the largest first."""


def what_if(snapshot: NamesrvSnapshot, gone: Gone, *, load_limit: float) -> WhatIf:
    """Compare what can be written now with what could be written without some brokers.

    Args:
        snapshot: what one name server says.
        gone: what is taken away.
        load_limit: the largest load that a broker may have, as a multiple of today's.
    """
    left = _left(snapshot.brokers, gone)
    before, after = (_writable_queues(snapshot, brokers) for brokers in (snapshot.brokers, left))
    lost = [
        TopicLeft(topic, sorted(queues), sorted(after[topic]))
        for topic, queues in sorted(before.items())
        if queues and len(after[topic]) < len(queues)
    ]
    return WhatIf(
        namesrv=snapshot.addr,
        gone=sorted(_addresses(snapshot.brokers) - _addresses(left)),
        topics=sum(map(bool, before.values())),
        unwritable=[each for each in lost if not each.after],
        on_one_broker=[each for each in lost if len(each.after) == 1],
        overloaded=_overloaded(_load(before), _load(after), load_limit),
    )


def brokers_in_zones(brokers: Brokers, zones: Collection[str]) -> frozenset[str]:
    """Broker names whose `zoneName` is one of these."""
    return frozenset(name for name, broker in brokers.items() if broker.zone_name in zones)


def _left(brokers: Brokers, gone: Gone) -> dict[str, BrokerData]:
    left = {name: broker for name, broker in brokers.items() if name not in gone.broker_names}
    for name, broker in left.items():
        members = {id_: addr for id_, addr in broker.broker_addrs.items() if addr not in gone.addresses}
        left[name] = structs.replace(broker, broker_addrs=members)
    return left


def _addresses(brokers: Brokers) -> set[str]:
    return {addr for broker in brokers.values() for addr in broker.broker_addrs.values()}


def _writable_queues(snapshot: NamesrvSnapshot, brokers: Brokers) -> dict[str, dict[str, int]]:
    """Topic -> broker name -> number of writable queues, if there are any."""
    masters = {name for name, broker in brokers.items() if MASTER_ID in broker.broker_addrs}
    return {
        topic: {
            queues.broker_name: queues.write_queue_nums
            for queues in (route.queue_datas if route else ())
            if is_writable(queues.perm, queues.write_queue_nums, has_master=queues.broker_name in masters)
        }
        for topic, route in snapshot.routes.items()
    }


def _load(writable: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """Broker name -> the sum of its shares of all topics."""
    load: dict[str, float] = {}
    for name, share in _shares(writable.values()):
        load[name] = load.get(name, 0) + share
    return load


def _shares(topics: Iterable[Mapping[str, int]]) -> Iterator[tuple[str, float]]:
    for queues in topics:
        total = sum(queues.values())
        yield from ((name, number / total) for name, number in queues.items())


def _overloaded(before: Mapping[str, float], after: Mapping[str, float], limit: float) -> dict[str, float]:
    times = {name: load / before[name] for name, load in after.items()}
    return {
        name: round(factor, 3)
        for name, factor in sorted(times.items(), key=lambda item: (-item[1], item[0]))
        if factor > limit
    }
