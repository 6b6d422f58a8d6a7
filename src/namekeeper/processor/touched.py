"""Everything that a request would touch, also what it does not name: access rules must cover all of it.

A registration takes an address out of the group that has it, and an unregistration ends the whole
registration of the address, whatever name either of them gives (protocol.md 4.4, 4.5). So the name that the
address has now counts too, and the clusters of all groups that are named. Static-topic mappings in the body
of a registration name brokers as well; they are known when it is decoded (`Channel.judge_brokers`).
"""

from collections.abc import Collection

from msgspec import structs

from namekeeper.access.names import NAMED, NameKind, Names, names_in
from namekeeper.messages.bodies import decode_topic_route, is_absent
from namekeeper.processor.state import NameServerState
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import RemotingCommand

__all__ = ["names_touched", "with_brokers"]

SPEAKS_FOR_AN_ADDRESS = frozenset(
    {
        RequestCode.REGISTER_BROKER,
        RequestCode.UNREGISTER_BROKER,
        RequestCode.QUERY_DATA_VERSION,
        RequestCode.BROKER_HEARTBEAT,
    }
)


def names_touched(state: NameServerState, request: RemotingCommand) -> Names:
    """Everything with a name that the request is about, as the tables are now.

    Raises:
        RequestError: the names are in the body, and it can't be read.
    """
    names = names_in(request.code, request.ext_fields)
    if NameKind.BROKERS not in NAMED.get(request.code, ()):
        return names
    return with_brokers(state, names, _in_body(request) | _of_address(state, request))


def with_brokers(state: NameServerState, names: Names, more: Collection[str]) -> Names:
    """The same names and more broker names, with the clusters that the groups of all of them are in."""
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
