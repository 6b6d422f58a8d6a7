"""The requests that a broker sends to name servers, as values, without I/O.

Build one, give it an `opaque`, encode it with `wire` and send it; the answers are in protocol.md 2.8 to
2.11. The caller must keep two rules of real name servers. A name server of 5.x refuses the first
registration of a broker id if it has exactly one topic (trap T10). It removes a broker when the connection
of its latest registration closes (trap T23).
"""

from msgspec import structs

from namekeeper.messages.bodies import encode_data_version
from namekeeper.messages.body_checksum import masked_crc32
from namekeeper.messages.fields import encode_header
from namekeeper.messages.register_broker_body import RegisterBrokerBody, encode_registration_body
from namekeeper.messages.registration import (
    BrokerHeartbeatRequestHeader,
    QueryDataVersionRequestHeader,
    UnRegisterBrokerRequestHeader,
    encode_register_broker_header,
)
from namekeeper.model.registration import RegisterBrokerHeader
from namekeeper.model.version import DataVersion
from namekeeper.wire.codes import RequestCode
from namekeeper.wire.command import OUR_VERSION, RemotingCommand, request

__all__ = [
    "broker_heartbeat_request",
    "encoded_register_broker_request",
    "query_data_version_request",
    "register_broker_request",
    "unregister_broker_request",
]


def register_broker_request(
    header: RegisterBrokerHeader,
    body: RegisterBrokerBody,
    *,
    compressed: bool = False,
    version: int = OUR_VERSION,
) -> RemotingCommand:
    """Build REGISTER_BROKER (103) as a broker of this version sends it (protocol.md 2.10, 3).

    The header's `compressed` and `body_crc32` are set from the body. A real 5.x broker sends
    `compressed=false` even with a compressed body, and Java name servers then fail; this function does
    not (trap T9). A header without `enable_acting_master` makes this a 4.x broker (trap T36).
    """
    encoded = encode_registration_body(body, compressed=compressed, version=version)
    complete = structs.replace(header, compressed=compressed, body_crc32=masked_crc32(encoded))
    return encoded_register_broker_request(complete, encoded, version=version)


def encoded_register_broker_request(
    header: RegisterBrokerHeader, encoded: bytes, *, version: int = OUR_VERSION
) -> RemotingCommand:
    """Build REGISTER_BROKER (103) with an encoded body; the header must have its form and checksum."""
    return request(
        RequestCode.REGISTER_BROKER, encode_register_broker_header(header), encoded, version=version
    )


def unregister_broker_request(header: UnRegisterBrokerRequestHeader) -> RemotingCommand:
    """Build UNREGISTER_BROKER (104; protocol.md 2.11)."""
    return request(RequestCode.UNREGISTER_BROKER, encode_header(header))


def query_data_version_request(
    header: QueryDataVersionRequestHeader, data_version: DataVersion, *, oneway: bool = False
) -> RemotingCommand:
    """Build QUERY_DATA_VERSION (322): whether to register again, and a heartbeat (protocol.md 2.8, 6.7)."""
    body = encode_data_version(data_version)
    return request(RequestCode.QUERY_DATA_VERSION, encode_header(header), body, oneway=oneway)


def broker_heartbeat_request(header: BrokerHeartbeatRequestHeader) -> RemotingCommand:
    """Build BROKER_HEARTBEAT (904), one-way as brokers send it (protocol.md 2.9)."""
    return request(RequestCode.BROKER_HEARTBEAT, encode_header(header), oneway=True)
