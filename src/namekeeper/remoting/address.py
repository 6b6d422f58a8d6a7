"""Addresses as RocketMQ writes them: `host:port;host:port`, IPv6 with or without brackets (trap T29)."""

from typing import NamedTuple

from namekeeper.errors import ConfigError

__all__ = ["Address", "bare_host", "format_address", "parse_address", "parse_addresses"]

_SCHEME = "http://"


class Address(NamedTuple):
    """A host without brackets, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return format_address(self.host, self.port)


def parse_address(text: str) -> Address:
    """Parse `host:port`; the port is after the last colon, whatever the host looks like."""
    item = text.strip().removeprefix(_SCHEME).rstrip("/")
    host, colon, port = item.rpartition(":")
    host = bare_host(host)
    if not colon or not host or not (port.isascii() and port.isdigit()):
        raise ConfigError(
            f"address {text.strip()!r} can't be used: write host:port, as in 10.0.0.1:9876 or [::1]:9876"
        )
    if not 0 < int(port) < 65_536:
        raise ConfigError(f"address {text.strip()!r} can't be used: the port must be between 1 and 65535")
    return Address(host, int(port))


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
