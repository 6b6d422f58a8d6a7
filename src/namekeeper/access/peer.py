"""The peer of a connection, as far as the connection itself proves who it is."""

from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from msgspec import Struct

__all__ = [
    "NOBODY",
    "IpAddress",
    "IpNetwork",
    "Peer",
    "certificate_names",
    "parse_ip",
    "parse_network",
    "peer_at",
    "unwrapped",
]

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

_MAPPED = IPv6Network("::ffff:0:0/96")
"""IPv4 addresses as IPv6 writes them."""
_SHORT = {
    "commonName": "CN",
    "organizationalUnitName": "OU",
    "organizationName": "O",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "countryName": "C",
    "domainComponent": "DC",
    "userId": "UID",
}
"""Parts of a subject -> how RFC 4514 writes them."""


class Peer(Struct, frozen=True):
    """One end of a connection."""

    address: IpAddress | None = None
    """None if it is no IP address; then it is in no network."""
    certificate: tuple[str, ...] = ()
    """The names in a client certificate that TLS has verified: the subject, then each alternative name."""


NOBODY = Peer()


def peer_at(remote_addr: str, certificate: tuple[str, ...] = ()) -> Peer:
    """The peer at `host:port`, as a channel has it."""
    host = remote_addr.rpartition(":")[0].strip("[]")
    try:
        return Peer(parse_ip(host), certificate)
    except ValueError:
        return Peer(None, certificate)


def parse_ip(text: str) -> IpAddress:
    """Read an address; one of IPv4 that IPv6 wraps is one of IPv4. ValueError if it is none."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def parse_network(text: str) -> IpNetwork:
    """Read a network or a single address; one of IPv4 that IPv6 wraps is one of IPv4.

    Raises:
        ValueError: it is none; the message says what to write.
    """
    try:
        network = ip_network(text)
    except ValueError:
        raise ValueError(_advice(text)) from None
    return unwrapped(network)


def unwrapped(network: IpNetwork) -> IpNetwork:
    """The same network, as one of IPv4 if it is one that IPv6 wraps."""
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        address = network.network_address.ipv4_mapped
        return ip_network(f"{address}/{network.prefixlen - 96}")
    return network


def certificate_names(certificate: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The names in a verified certificate as `ssl` shows it: `CN=ops,O=Example`, `DNS:ops.example`."""
    if not certificate:
        return ()
    subject = [part for relative in certificate.get("subject", ()) for part in relative]
    names = [f"{kind}:{value}" for kind, value in certificate.get("subjectAltName", ())]
    return (_subject(subject), *names) if subject else tuple(names)


def _subject(parts: Iterable[tuple[str, str]]) -> str:
    """Most specific part first, as RFC 4514 says; what separates parts is escaped in values."""
    texts = [f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in parts]
    return ",".join(reversed(texts))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _advice(text: str) -> str:
    try:
        loose = ip_network(text, strict=False)
    except ValueError:
        return f"{text!r} is not a network: write 10.0.0.0/8, 10.1.2.3 or fd00::/8"
    return f"{text!r} has bits beyond its prefix: write {loose} for the network, or the address alone"
