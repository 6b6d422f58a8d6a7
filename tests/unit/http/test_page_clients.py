"""Who asks for a page, as its connection and its header prove it."""

from ipaddress import ip_address
from types import SimpleNamespace

import pytest
from aiohttp.test_utils import make_mocked_request

from namekeeper.access.peer import Peer
from namekeeper.http.page_clients import client_of, token_of

CERTIFICATE = {"subject": ((("commonName", "ops"),),), "subjectAltName": (("DNS", "ops.test"),)}


def asked(host: str | None, certificate: object) -> SimpleNamespace:
    transport = SimpleNamespace(get_extra_info=lambda name: certificate if name == "peercert" else None)
    return SimpleNamespace(remote=host, transport=transport)


def test_the_names_in_a_verified_certificate_are_those_of_the_client() -> None:
    found = client_of(asked("10.0.0.1", CERTIFICATE))
    assert found == Peer(ip_address("10.0.0.1"), ("CN=ops", "DNS:ops.test"))


@pytest.mark.parametrize("certificate", [None, {}])
def test_without_a_verified_certificate_there_is_the_address_alone(certificate: object) -> None:
    assert client_of(asked("::ffff:10.0.0.1", certificate)) == Peer(ip_address("10.0.0.1"))
    assert client_of(asked(None, certificate)) == Peer(None)
    assert client_of(SimpleNamespace(remote="::1", transport=None)) == Peer(ip_address("::1"))


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer  k ", "k"),
        ("bearer k", "k"),
        ("Basic k", ""),
        ("Bearer", ""),
        ("", ""),
        ("Bearer a b", "a b"),
    ],
)
def test_a_token_is_what_follows_bearer(header: str, token: str) -> None:
    assert token_of(make_mocked_request("GET", "/", headers={"Authorization": header})) == token
