"""Requests about the KV configuration: put, get, delete, list (protocol.md 2.3)."""

from collections.abc import Iterable

from namekeeper.errors import RequestError
from namekeeper.kvconfig.store import KvConfigStore
from namekeeper.messages.bodies import encode_kv_table
from namekeeper.messages.fields import decode_header, encode_header
from namekeeper.messages.kv import (
    DeleteKVConfigRequestHeader,
    GetKVConfigRequestHeader,
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    PutKVConfigRequestHeader,
)
from namekeeper.model.now import Now
from namekeeper.processor.handlers import handles
from namekeeper.processor.outcome import Outcome, Save
from namekeeper.processor.state import NameServerState
from namekeeper.route.channel import Channel
from namekeeper.route.events import Cause, Change, KvChanged
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = [
    "delete_kv_config",
    "get_kv_config",
    "get_kv_list_by_namespace",
    "own_kv_config",
    "put_kv_config",
]


@handles(RequestCode.PUT_KV_CONFIG)
def put_kv_config(state: NameServerState, request: RemotingCommand, channel: Channel, now: Now) -> Outcome:
    """PUT_KV_CONFIG (100): stored, written to disk, then answered."""
    header = decode_header(PutKVConfigRequestHeader, request.ext_fields)
    _check_owner(state)
    events = state.kv_config.put(header.namespace, header.key, header.value)
    _forget(state, events)
    return Outcome(Response(), Change(Cause.PUT_KV, channel.remote_addr, events), Save.KV_CONFIG)


@handles(RequestCode.DELETE_KV_CONFIG)
def delete_kv_config(state: NameServerState, request: RemotingCommand, channel: Channel, now: Now) -> Outcome:
    """DELETE_KV_CONFIG (102): no error when there is nothing to delete."""
    header = decode_header(DeleteKVConfigRequestHeader, request.ext_fields)
    _check_owner(state)
    events = state.kv_config.delete(header.namespace, header.key)
    _forget(state, events)
    return Outcome(Response(), Change(Cause.DELETE_KV, channel.remote_addr, events), Save.KV_CONFIG)


@handles(RequestCode.GET_KV_CONFIG)
def get_kv_config(state: NameServerState, request: RemotingCommand) -> Response:
    """GET_KV_CONFIG (101)."""
    header = decode_header(GetKVConfigRequestHeader, request.ext_fields)
    try:
        value = state.kv_config.get(header.namespace, header.key)
    except RequestError as error:
        return Response(error.code, error.remark, ext_fields={})
    return Response(ext_fields=encode_header(GetKVConfigResponseHeader(value)))


@handles(RequestCode.GET_KVLIST_BY_NAMESPACE)
def get_kv_list_by_namespace(state: NameServerState, request: RemotingCommand) -> Response:
    """GET_KVLIST_BY_NAMESPACE (219)."""
    header = decode_header(GetKVListByNamespaceRequestHeader, request.ext_fields)
    return Response(body=encode_kv_table(state.kv_config.list_by_namespace(header.namespace)))


def own_kv_config(state: NameServerState, found: KvConfigStore) -> list[Change]:
    """Take over the KV configuration that another process owned until now.

    Args:
        state: the state to change.
        found: the present content of the file.

    Returns:
        The differences: removed entries, then new ones.
    """
    events = state.kv_config.become(found.table)
    state.kv_refusal = None
    _forget(state, events)
    gone = tuple(event for event in events if event.value is None)
    new = tuple(event for event in events if event.value is not None)
    changes = Change(Cause.DELETE_KV, None, gone), Change(Cause.PUT_KV, None, new)
    return [change for change in changes if change.events]


def _forget(state: NameServerState, events: Iterable[KvChanged]) -> None:
    for event in events:
        state.changed(event)


def _check_owner(state: NameServerState) -> None:
    if state.kv_refusal is not None:
        raise RequestError(ResponseCode.SYSTEM_ERROR, state.kv_refusal)
