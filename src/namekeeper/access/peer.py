"""The peer of a connection, as far as the connection itself proves its identity."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from namekeeper.common.networks import IpAddress, parse_ip

__all__ = [
    "CERTIFICATE_NAMES",
    "NOBODY",
    "Peer",
    "certificate_names",
    "has_too_many_names",
    "peer_at",
]

CERTIFICATE_NAMES = 1_000
"""Most names in a client certificate, with the parts of its subject. OpenSSL accepts a certificate of 100 KB.
With 25,000 names it takes megabytes for each connection, and access rules are compared with each name."""

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
"""Attribute of a subject -> its abbreviation in RFC 4514."""


class Peer(Struct, frozen=True):
    """One end of a connection."""

    address: IpAddress | None = None
    """None if the peer has no IP address; such a peer is in no network."""
    certificate: tuple[str, ...] = ()
    """The names in a client certificate that TLS has verified: the subject, then each alternative name."""


NOBODY = Peer()


def peer_at(remote_addr: str, certificate: tuple[str, ...] = ()) -> Peer:
    """The peer at `host:port`, the form that a channel uses."""
    host = remote_addr.rpartition(":")[0].strip("[]")
    try:
        return Peer(parse_ip(host), certificate)
    except ValueError:
        return Peer(None, certificate)


def certificate_names(certificate: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The names in a verified certificate as `ssl` shows it: `CN=ops,O=Example`, `DNS:ops.example`."""
    if not certificate:
        return ()
    subject = [part for relative in certificate.get("subject", ()) for part in relative]
    names = [f"{kind}:{value}" for kind, value in certificate.get("subjectAltName", ())]
    return (_subject(subject), *names) if subject else tuple(names)


def has_too_many_names(certificate: Mapping[str, Any] | None) -> bool:
    """Whether a certificate as `ssl` shows it has more names than `CERTIFICATE_NAMES`."""
    return sum(map(_strings, (certificate or {}).values())) > 2 * CERTIFICATE_NAMES  # each with its kind


def _strings(value: object) -> int:
    """Number of strings: one part of a subject, and one alternative name, may itself have many names."""
    return sum(map(_strings, value)) if isinstance(value, tuple) else 1


def _subject(parts: Iterable[tuple[str, str]]) -> str:
    """Write the most specific part first, as in RFC 4514, and escape separators in values."""
    texts = [f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in parts]
    return ",".join(reversed(texts))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
