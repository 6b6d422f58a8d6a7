"""IP addresses and networks in texts. IPv4 in IPv6 notation is IPv4: `::ffff:10.0.0.1` is 10.0.0.1."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

__all__ = ["IpAddress", "IpNetwork", "parse_ip", "parse_network"]

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network

_MAPPED = IPv6Network("::ffff:0:0/96")
"""IPv4 addresses in IPv6 notation."""


def parse_ip(text: str) -> IpAddress:
    """Read an IP address; an IPv4 address in IPv6 notation becomes IPv4. Raise ValueError for other text."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def parse_network(text: str) -> IpNetwork:
    """Read a network or a single address; an IPv4 network in IPv6 notation becomes IPv4.

    Raises:
        ValueError: the text is neither; the message says what to write.
    """
    try:
        network = ip_network(text)
    except ValueError:
        raise ValueError(_advice(text)) from None
    return _unwrapped(network)


def _unwrapped(network: IpNetwork) -> IpNetwork:
    """The same network; one in IPv6 notation of IPv4 becomes an IPv4 network."""
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        address = network.network_address.ipv4_mapped
        return ip_network(f"{address}/{network.prefixlen - 96}")
    return network


def _advice(text: str) -> str:
    try:
        loose = ip_network(text, strict=False)
    except ValueError:
        return f"{text!r} is not a network: write 10.0.0.0/8, 10.1.2.3 or fd00::/8"
    return f"{text!r} has bits beyond its prefix: write {loose} for the network, or the address alone"
