"""All names that a request affects, also those that it does not contain: access rules must cover them all.

A registration takes an address out of its present group, and an unregistration ends the complete registration
of the address. Both do so under any name that the request gives (protocol.md 4.4, 4.5). So the present name
of the address counts too, and the clusters of all named groups. Static-topic mappings in the body of a
registration name brokers as well; the server checks them after decoding it (`Channel.judge_brokers`).
"""

from collections.abc import Collection

from msgspec import structs

from namekeeper.access.names import NAMED, Names, names_in
from namekeeper.messages.bodies import decode_topic_route, is_absent
from namekeeper.messages.catalogue import CATALOGUE, NameKind
from namekeeper.processor.state import NameServerState
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand

__all__ = ["names_touched", "with_brokers"]

SPEAKS_FOR_AN_ADDRESS = frozenset(
    code
    for code, entry in CATALOGUE.items()
    if entry.request_header is not None and "broker_addr" in entry.request_header.__struct_fields__
)
"""Requests that give the address of a broker."""


def names_touched(state: NameServerState, request: RemotingCommand) -> Names:
    """All names that the request affects, as the tables are now.

    Raises:
        RequestError: the names are in the body, and it can't be read.
    """
    names = names_in(request.code, request.ext_fields)
    if NameKind.BROKERS not in NAMED.get(request.code, ()):
        return names
    return with_brokers(state, names, _in_body(request) | _of_address(state, request))


def with_brokers(state: NameServerState, names: Names, more: Collection[str]) -> Names:
    """The same names and more broker names, with the clusters of the groups of all these."""
    brokers = names.brokers.union(more)
    groups = (state.tables.broker_addr_table.get(name) for name in brokers)
    clusters = names.clusters | {group.cluster for group in groups if group is not None}
    return structs.replace(names, brokers=brokers, clusters=clusters)


def _in_body(request: RemotingCommand) -> set[str]:
    if request.code != RequestCode.REGISTER_TOPIC_IN_NAMESRV or is_absent(request.body):
        return set()
    return {data.broker_name for data in decode_topic_route(request.body).queue_datas}


def _of_address(state: NameServerState, request: RemotingCommand) -> set[str]:
    """The name under which the address of the request is registered."""
    fields = request.ext_fields or {}
    if request.code not in SPEAKS_FOR_AN_ADDRESS:
        return set()
    live = state.tables.broker_live_table.get((fields.get("clusterName", ""), fields.get("brokerAddr", "")))
    return set() if live is None else {live.broker_name}
