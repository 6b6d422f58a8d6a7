from ipaddress import ip_address, ip_network

import pytest

from namekeeper.common.networks import parse_ip, parse_network


@pytest.mark.parametrize(
    ("text", "network"),
    [
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("10.1.2.3", "10.1.2.3/32"),
        ("fd00::/8", "fd00::/8"),
        ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
        ("::ffff:10.1.2.3", "10.1.2.3/32"),
        ("::/0", "::/0"),
    ],
)
def test_networks(text: str, network: str):
    assert parse_network(text) == ip_network(network)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("10.0.0.1/8", "has bits beyond its prefix: write 10.0.0.0/8 for the network, or the address alone"),
        ("10.0.0.0/33", "is not a network"),
        ("10.0.0", "is not a network"),
        ("example.org", "is not a network: write 10.0.0.0/8, 10.1.2.3 or fd00::/8"),
        ("", "is not a network"),
    ],
)
def test_what_is_no_network_says_what_to_write(text: str, advice: str):
    with pytest.raises(ValueError, match="network") as caught:
        parse_network(text)
    assert advice in str(caught.value)


def test_an_address_of_ipv4_in_ipv6_is_one_of_ipv4():
    assert parse_ip("::ffff:192.0.2.1") == ip_address("192.0.2.1")
