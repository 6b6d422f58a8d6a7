from ipaddress import ip_address

import pytest

from namekeeper.access.peer import CERTIFICATE_NAMES, Peer, certificate_names, has_too_many_names, peer_at


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


@pytest.mark.parametrize(
    ("more", "is_too_many"),
    [
        ({}, False),
        ({"subject": ((("commonName", "a"),) * CERTIFICATE_NAMES,)}, True),
        ({"subjectAltName": (("DirName", ((("commonName", "a"),),) * CERTIFICATE_NAMES),)}, True),
    ],
)
def test_names_within_one_part_count(more, is_too_many: bool):
    issuer = ((("commonName", "ca"),),)
    certificate = {"version": 3, "issuer": issuer, "subject": ((("commonName", "a"),) * 9,), **more}
    assert has_too_many_names(certificate) is is_too_many
    assert not has_too_many_names(None)
