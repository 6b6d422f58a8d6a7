"""Addresses as RocketMQ writes them: `host:port;host:port`, IPv6 with or without brackets (trap T29)."""

import re
import socket
from collections.abc import Iterator
from typing import NamedTuple

from namekeeper.errors import ConfigError

__all__ = ["Address", "bare_host", "format_address", "parse_address", "parse_addresses", "sharing_host"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HTTP = "http://"
_NAME = re.compile(r"[\w.-]+")
_NUMBERS = re.compile(r"[0-9]+(\.[0-9]+){3,}")
_DIGITS = 6
"""A number with so many digits is neither a port nor a part of an address; Python does not read thousands."""
_SEPARATORS = re.compile(r"[\s,;|\uff0c\uff1b\u3001]+")
_MAPPED = bytes(10) + b"\xff\xff"
"""Prefix of an IPv4 address in IPv6 notation."""
_QUOTES = "\"'`\u201c\u201d\u2018\u2019"
_WIDE = str.maketrans({"\uff1a": ":", "\uff0e": ".", "\u3002": "."})
_HOW = "write host:port, as in 10.0.0.1:9876 or [::1]:9876"


class Address(NamedTuple):
    """A host without brackets, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return format_address(self.host, self.port)


def parse_address(text: str) -> Address:
    """Parse `host:port`; the port comes after the last colon, whatever the host looks like.

    Raises:
        ConfigError: the text is no address; the message has the text, its fault and the text to write
            instead.
    """
    item = text.strip()
    host, colon, port = item.removeprefix(_HTTP).rstrip("/").rpartition(":")
    host = bare_host(host)
    is_address = colon and _is_host(host) and port.isascii() and port.isdigit()
    if not is_address:
        raise ConfigError(f"address {item!r} can't be used: {_advice(item)}")
    number = _number(port)
    if not 0 < number < 65_536:
        raise ConfigError(f"address {item!r} can't be used: the port must be between 1 and 65535")
    return Address(host, number)


def sharing_host(host: str) -> str:
    """The host that an address counts for where hosts share a limit.

    A host with IPv6 has a whole /64 of addresses: all of them are one host.
    """
    if ":" not in host:
        return host
    try:
        packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
    except OSError:
        return host
    if packed.startswith(_MAPPED):
        return socket.inet_ntop(socket.AF_INET, packed[len(_MAPPED) :])
    return socket.inet_ntop(socket.AF_INET6, packed[:8] + bytes(8)) + "/64"


def _is_host(host: str) -> bool:
    """Whether a text is an IP address or may be a name."""
    if ":" in host:
        try:
            return bool(socket.inet_pton(socket.AF_INET6, host.partition("%")[0]))
        except OSError:
            return False
    if _NUMBERS.fullmatch(host):
        return host.count(".") == 3 and all(_number(part) < 256 for part in host.split("."))
    return _NAME.fullmatch(host) is not None


def _number(digits: str) -> int:
    """The number that digits stand for; of one that is too large in any case, its first digits."""
    return int(digits.lstrip("0")[:_DIGITS] or 0)


def _advice(item: str) -> str:
    """The advice for a text that is no address: the text to write instead."""
    return next(_hints(item), _HOW)


def _hints(item: str) -> Iterator[str]:
    """Hints at the fault of the text, the most telling first."""
    bare = item.strip(_QUOTES)
    if bare not in {"", item}:
        yield f"write it without quotes: {bare}"
    parts = [part for part in _SEPARATORS.split(item) if part]
    if len(parts) > 1 and all(":" in part.translate(_WIDE) for part in parts):
        yield f"write a semicolon between two addresses, and nothing else: {';'.join(parts)}"
    scheme = _SCHEME.match(item)
    if scheme and scheme.group() != _HTTP:
        yield f"write host:port without {scheme.group()}, as in {_authority(item)}"
    plain = item.translate(_WIDE)
    if plain != item:
        yield f"write it with ASCII characters: {plain}"
    if not item.isprintable():
        yield f"it has a character that is not shown: {ascii(item)[1:-1]}; {_HOW}"
    if "/" in item.removeprefix(_HTTP).rstrip("/"):
        yield f"write host:port without a path, as in {_authority(item)}"


def _authority(item: str) -> str:
    """The part of a URL that may be the address."""
    return _SCHEME.sub("", item).partition("/")[0] or "10.0.0.1:9876"


def parse_addresses(text: str) -> list[Address]:
    """Parse a list separated by `;`; empty items are skipped, an empty list is an error."""
    addresses = [parse_address(item) for item in text.split(";") if item.strip()]
    if not addresses:
        raise ConfigError(f"address list {text!r} is empty: write host:port;host:port")
    return addresses


def bare_host(text: str) -> str:
    """Strip the brackets of an IPv6 host, which sockets don't want."""
    host = text.strip()
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def format_address(host: str, port: int) -> str:
    """Join host and port, with brackets around an IPv6 host."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
