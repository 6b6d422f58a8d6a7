"""The header that a proxy puts before a connection's first byte: PROXY protocol 1 and 2 (protocol.md 5.8).

Neither can be confused with a frame or a TLS hello: a frame that begins like this would exceed the limit by
far.
"""

from ipaddress import AddressValueError, IPv4Address, IPv6Address

from msgspec import Struct

from namekeeper.errors import ProtocolError

__all__ = ["MAX_V1_BYTES", "MAX_V2_BYTES", "NeedMore", "ProxyHeader", "parse"]

MAX_V1_BYTES = 107
"""The longest line that version 1 allows, its end included."""

MAX_V2_BYTES = 8_192
"""Version 2 allows 65,551; the largest that proxies send hold a client certificate of some kilobytes."""

_V1_START = b"PROXY "
_V2_START = b"\r\n\r\n\x00\r\nQUIT\n"
_V2_FIXED_BYTES = 16
_LOCAL, _PROXY = 0x20, 0x21
_V2_ADDRESS_BYTES = {0: 0, 1: 12, 2: 36, 3: 216}
"""Family (unspecified, IPv4, IPv6, UNIX) -> bytes of its two addresses."""

_FAMILIES: dict[bytes, type[IPv4Address] | type[IPv6Address]] = {b"TCP4": IPv4Address, b"TCP6": IPv6Address}


class ProxyHeader(Struct, frozen=True):
    """The header of a proxy about a connection."""

    source_addr: tuple[str, int] | None
    """Host and port of the client; None if the proxy speaks for itself or can't say."""
    header_length: int
    """Bytes to skip: the connection's own first byte comes after them."""


class NeedMore(Struct, frozen=True):
    """The bytes so far may be a header, but its end is missing."""

    at_least: int
    """Number of bytes from the start of the connection that are needed to decide."""


def parse(prefix: bytes) -> ProxyHeader | NeedMore | None:
    """Look for a header in the first bytes of a connection; None means there is none.

    Raises ProtocolError for a header that is broken or longer than its limit.
    """
    for start, parse_version in ((_V1_START, _parse_v1), (_V2_START, _parse_v2)):
        if prefix.startswith(start):
            return parse_version(prefix)
        if start.startswith(prefix):
            return NeedMore(len(prefix) + 1)
    return None


def _parse_v1(prefix: bytes) -> ProxyHeader | NeedMore:
    line, end, _ = prefix[:MAX_V1_BYTES].partition(b"\r\n")
    if not end:
        if len(prefix) >= MAX_V1_BYTES:
            raise ProtocolError("bad PROXY header: line too long")
        return NeedMore(len(prefix) + 1)
    length = len(line) + len(end)
    words = line.split(b" ")
    if words[1] == b"UNKNOWN":
        return ProxyHeader(None, length)
    family = _FAMILIES.get(words[1])
    if family is None or len(words) != 6:
        raise ProtocolError("bad PROXY header: not a family, two addresses and two ports")
    host, _, port, _ = (_host(words[2], family), _host(words[3], family), _port(words[4]), _port(words[5]))
    return ProxyHeader((host, port), length)


def _host(word: bytes, family: type[IPv4Address] | type[IPv6Address]) -> str:
    try:
        if b"%" in word:  # Python takes any text as the zone of an IPv6 address, also line feeds and markup
            raise ProtocolError("bad PROXY header: an address with a zone")
        return _text(family(word.decode("ascii")))
    except (AddressValueError, UnicodeDecodeError):
        raise ProtocolError("bad PROXY header: not an address") from None


def _text(address: IPv4Address | IPv6Address) -> str:
    """The address; one of IPv4 that IPv6 wraps is the same host as without it, and is written like that.

    A proxy with a socket for both wraps it, and another proxy does not.
    """
    unwrapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(unwrapped or address)


def _port(word: bytes) -> int:
    if not word.isdigit() or len(word) > 5 or int(word) > 65_535:
        raise ProtocolError("bad PROXY header: not a port")
    return int(word)


def _parse_v2(prefix: bytes) -> ProxyHeader | NeedMore:
    if len(prefix) < _V2_FIXED_BYTES:
        return NeedMore(_V2_FIXED_BYTES)
    command, kind = prefix[12], prefix[13]
    length = _V2_FIXED_BYTES + int.from_bytes(prefix[14:16], "big")
    if command not in (_LOCAL, _PROXY):
        raise ProtocolError("bad PROXY header: unknown version or command")
    if length > MAX_V2_BYTES:
        raise ProtocolError("bad PROXY header: too long")
    if len(prefix) < length:
        return NeedMore(length)
    return ProxyHeader(None if command == _LOCAL else _source(kind, prefix[_V2_FIXED_BYTES:length]), length)


def _source(kind: int, addresses: bytes) -> tuple[str, int] | None:
    """Read the client's address from two addresses and two ports; what follows them is skipped."""
    family, transport = kind >> 4, kind & 0xF
    needed = _V2_ADDRESS_BYTES.get(family)
    if needed is None or transport > 2 or len(addresses) < needed:
        raise ProtocolError("bad PROXY header: unknown or incomplete address")
    if family == 1:
        return str(IPv4Address(addresses[:4])), int.from_bytes(addresses[8:10], "big")
    if family == 2:
        return _text(IPv6Address(addresses[:16])), int.from_bytes(addresses[32:34], "big")
    return None
