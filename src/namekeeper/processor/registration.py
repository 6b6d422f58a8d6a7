"""Requests of brokers: register, unregister, query the data version, heartbeat (protocol.md 2.8 to 2.11)."""

from collections.abc import Generator

from namekeeper.errors import RequestError
from namekeeper.kvconfig.store import ORDER_TOPIC_CONFIG
from namekeeper.messages.bodies import (
    decode_data_version,
    encode_data_version,
    encode_kv_table,
    is_absent,
)
from namekeeper.messages.body_checksum import check_crc32
from namekeeper.messages.fields import decode_header, encode_header
from namekeeper.messages.registration import (
    BrokerHeartbeatRequestHeader,
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
    RegisterBrokerResponseHeader,
    UnRegisterBrokerRequestHeader,
    decode_register_broker_header,
)
from namekeeper.messages.registration_body import decode_registration_body
from namekeeper.model.broker import BrokerKey
from namekeeper.model.now import Now
from namekeeper.model.registration import RegisterBrokerHeader, RegistrationBody
from namekeeper.processor.handlers import handles
from namekeeper.processor.limits import check_body_names, check_names
from namekeeper.processor.outcome import Deferred, Outcome
from namekeeper.processor.state import NameServerState
from namekeeper.route.channel import Channel
from namekeeper.route.commit import RegisterResult
from namekeeper.route.events import Cause, Change
from namekeeper.route.registration import RegisterBroker
from namekeeper.route.removal import UnregisterBroker, UnregisterResult
from namekeeper.route.takeover import may_refresh
from namekeeper.wire.codes import RequestCode, ResponseCode
from namekeeper.wire.command import RemotingCommand, Response

__all__ = ["broker_heartbeat", "query_data_version", "register_broker", "unregister_broker"]


@handles(RequestCode.REGISTER_BROKER)
def register_broker(state: NameServerState, request: RemotingCommand, channel: Channel, now: Now) -> Deferred:
    """REGISTER_BROKER (103)."""
    header = decode_register_broker_header(request.ext_fields)
    limit = state.settings.name_characters_limit
    check_names(
        limit,
        cluster_name=header.cluster_name, broker_name=header.broker_name, broker_addr=header.broker_addr,
        ha_server_addr=header.ha_server_addr, zone_name=header.zone_name,
    )  # fmt: skip
    body, version, judge_brokers = request.body, request.version, channel.judge_brokers

    def decode() -> Generator[None, None, RegistrationBody]:
        yield from check_crc32(header.body_crc32, body)
        decoded = yield from decode_registration_body(body, version=version, compressed=header.compressed)
        yield from check_body_names(limit, decoded)
        hosts = {mapping.bname for mapping in decoded.mappings.values()} - {header.broker_name}
        if hosts and judge_brokers is not None:
            judge_brokers(hosts)
        return decoded

    change = RegisterBroker(header, body, version=version, channel=channel, decode=decode)
    change.arrive(state.tables, now)
    return Deferred(change, lambda result: _register_response(state, header, result))


@handles(RequestCode.UNREGISTER_BROKER)
def unregister_broker(
    state: NameServerState, request: RemotingCommand, channel: Channel, now: Now
) -> Deferred:
    """UNREGISTER_BROKER (104): answered when it is done, unlike 5.x Java (trap T22)."""
    header = decode_header(UnRegisterBrokerRequestHeader, request.ext_fields)
    check_names(
        state.settings.name_characters_limit,
        cluster_name=header.cluster_name, broker_name=header.broker_name, broker_addr=header.broker_addr,
    )  # fmt: skip
    change = UnregisterBroker(
        header.cluster_name,
        header.broker_addr,
        header.broker_name,
        channel,
        may_take_over=channel.may_take_over,
        owner=channel.owner,
    )
    return Deferred(change, _unregister_response)


@handles(RequestCode.QUERY_DATA_VERSION)
def query_data_version(
    state: NameServerState, request: RemotingCommand, channel: Channel, now: Now
) -> Outcome:
    """QUERY_DATA_VERSION (322): refreshes the live registration, too, unless that belongs to another host.

    The other host gets the same answer, because it may be a tool. The answer reports a changed version to a
    broker that was restored, or that has registered only single topics so far. So the broker registers all of
    its topics.
    """
    header = decode_header(QueryDataVersionRequestHeader, request.ext_fields)
    limit = state.settings.name_characters_limit
    check_names(limit, cluster_name=header.cluster_name, broker_addr=header.broker_addr)
    key = (header.cluster_name, header.broker_addr)
    theirs = None if is_absent(request.body) else decode_data_version(request.body)
    change = _hear(state, key, channel, now)
    live = state.tables.broker_live_table.get(key)
    is_known = live is not None and live.has_full_table and live.data_version == theirs
    answer = QueryDataVersionResponseHeader(changed=not is_known)
    body = encode_data_version(live.data_version) if live is not None else b""
    return Outcome(Response(ext_fields=encode_header(answer), body=body), change)


@handles(RequestCode.BROKER_HEARTBEAT)
def broker_heartbeat(state: NameServerState, request: RemotingCommand, channel: Channel, now: Now) -> Outcome:
    """BROKER_HEARTBEAT (904): refreshes the live registration, unless that belongs to another host.

    The answer is always success, as brokers expect, also for a broker without a registration.
    """
    header = decode_header(BrokerHeartbeatRequestHeader, request.ext_fields)
    limit = state.settings.name_characters_limit
    check_names(limit, cluster_name=header.cluster_name, broker_addr=header.broker_addr)
    return Outcome(Response(), _hear(state, (header.cluster_name, header.broker_addr), channel, now))


def _hear(state: NameServerState, key: BrokerKey, channel: Channel, now: Now) -> Change | None:
    channel.note_carried(key, gen=state.tables.gen)
    live = state.tables.broker_live_table.get(key)
    if live is None or not may_refresh(state.tables, live, channel):
        return None
    heard = live.heard(now)
    state.tables.apply(heard, now=now)
    return Change(Cause.HEARTBEAT, channel.remote_addr, (heard,))


def _register_response(
    state: NameServerState, header: RegisterBrokerHeader, result: RegisterResult
) -> Response:
    if result.takeover:
        raise RequestError(ResponseCode.NO_PERMISSION, f"register broker failed: {result.takeover}")
    if result.is_refused:
        why = f": {result.limit}" if result.limit else ""
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"register broker failed{why}")
    fields = RegisterBrokerResponseHeader(
        ha_server_addr=result.ha_server_addr, master_addr=result.master_addr
    )
    return Response(ext_fields=encode_header(fields), body=_order_topic_config(state))


def _unregister_response(result: UnregisterResult) -> Response:
    if result.takeover:
        raise RequestError(ResponseCode.NO_PERMISSION, f"unregister broker failed: {result.takeover}")
    return Response()


def _order_topic_config(state: NameServerState) -> bytes:
    """Every order configuration, for the broker to mark its topics; nothing if there never was one."""
    if not state.settings.return_order_topic_config_to_broker:
        return b""
    try:
        return encode_kv_table(state.kv_config.list_by_namespace(ORDER_TOPIC_CONFIG))
    except RequestError:
        return b""
