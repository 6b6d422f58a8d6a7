"""A name server of the past: it answers from the state at one instant, and nothing can change that state."""

from collections.abc import Mapping

from namekeeper.config.load import settings_from
from namekeeper.config.runtime import RuntimeConfig
from namekeeper.errors import RequestError
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.processor.dispatch import CHANGERS
from namekeeper.processor.state import NameServerState
from namekeeper.route.tables import RouteTables
from namekeeper.wire.codes import ResponseCode
from namekeeper.wire.command import RemotingCommand

__all__ = ["past_state", "refuse_change"]


def past_state(
    tables: RouteTables, kv: Mapping[str, Mapping[str, str]], properties: Mapping[str, str]
) -> NameServerState:
    """The state of a name server at one instant, from a journal or a warehouse.

    Readers answer from it as the live name server did. It does not wait for brokers: the tables hold those of
    that time.

    Args:
        tables: the route tables; they become part of the state.
        kv: namespace -> key -> value.
        properties: the running configuration; a property without a record has its default.
    """
    settings, _ = settings_from(properties)
    state = NameServerState(RuntimeConfig.start(settings, properties), KvConfigStore(kv), tables=tables)
    state.end_wait_for_service()
    return state


def refuse_change(request: RemotingCommand, remark: str) -> None:
    """Refuse a request that could change something; heartbeats (904) and 322 refresh a live registration.

    Raises:
        RequestError: NO_PERMISSION (16), with this remark.
    """
    if request.code in CHANGERS:
        raise RequestError(ResponseCode.NO_PERMISSION, remark)
