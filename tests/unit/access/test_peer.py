from ipaddress import ip_address, ip_network

import pytest

from namekeeper.access.peer import Peer, certificate_names, parse_ip, parse_network, peer_at


@pytest.mark.parametrize(
    ("remote_addr", "address"),
    [
        ("10.1.2.3:5000", "10.1.2.3"),
        ("[fd00::1]:5000", "fd00::1"),
        ("[::ffff:10.1.2.3]:5000", "10.1.2.3"),
        ("[fe80::1%eth0]:5000", "fe80::1"),
    ],
)
def test_the_address_of_a_channel(remote_addr: str, address: str):
    assert peer_at(remote_addr) == Peer(ip_address(address))


def test_what_is_no_address_is_in_no_network():
    assert peer_at("unix:5000") == Peer(None)


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


def test_the_names_of_a_certificate_are_its_subject_and_each_alternative_name():
    certificate = {
        "subject": (
            (("countryName", "DE"),),
            (("organizationName", "Example, Inc."),),
            (("commonName", "ops"),),
        ),
        "subjectAltName": (("DNS", "ops.example"), ("IP Address", "10.0.0.1")),
    }
    assert certificate_names(certificate) == (
        "CN=ops,O=Example\\, Inc.,C=DE",
        "DNS:ops.example",
        "IP Address:10.0.0.1",
    )
    assert certificate_names({"subject": (), "subjectAltName": (("DNS", "a"),)}) == ("DNS:a",)
    assert certificate_names(None) == certificate_names({}) == ()
