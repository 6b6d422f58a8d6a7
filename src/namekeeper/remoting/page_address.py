"""Addresses of operators' HTTP ports: `host:port;https://host:port`."""

from typing import NamedTuple

from namekeeper.errors import ConfigError
from namekeeper.remoting.address import Address, parse_address

__all__ = ["PageAddress", "parse_page_addresses"]

_HTTPS = "https://"


class PageAddress(NamedTuple):
    """The address of operators' pages, and whether it speaks TLS."""

    address: Address
    is_tls: bool = False

    def __str__(self) -> str:
        return f"{_HTTPS}{self.address}" if self.is_tls else str(self.address)

    @property
    def url(self) -> str:
        """The start of the URLs of its pages, without a slash at the end."""
        return str(self) if self.is_tls else f"http://{self.address}"


def parse_page_addresses(text: str) -> list[PageAddress]:
    """Parse a list separated by `;`; TLS is for addresses written with `https://`.

    Raises:
        ConfigError: one is malformed, or the list is empty.
    """
    items = [item.strip() for item in text.split(";") if item.strip()]
    if not items:
        raise ConfigError(f"address list {text!r} is empty: write host:port;https://host:port")
    return [PageAddress(parse_address(item.removeprefix(_HTTPS)), item.startswith(_HTTPS)) for item in items]
