"""Brokers, clients and mqadmin that talk TLS to a name server which takes nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from tests.interop.clients import JavaClient, numbers
from tests.interop.routes import assert_routes_match
from tests.interop.servers import NameServer, name_server_under_test
from tests.support.java.servers import VERSIONS, JavaBroker
from tests.support.system.processes import eventually
from tests.support.wire.ask import ask

pytestmark = [pytest.mark.interop, pytest.mark.slow]

TLS = ("-Dtls.enable=true",)


@pytest.fixture(scope="module")
def enforcing() -> Iterator[NameServer]:
    """A name server that closes every connection that does not begin with TLS."""
    with name_server_under_test(tls_mode="enforcing") as server:
        yield server


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """A certificate for brokers: the self-signed one that 4.8.0 makes by itself fails on today's Java."""
    folder: Path = tmp_path_factory.mktemp("certificate")
    issued = trustme.CA(key_type=trustme.KeyType.RSA).issue_cert("127.0.0.1", key_type=trustme.KeyType.RSA)
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), password=None)
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    (folder / "cert.pem").write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    return (
        "-Dtls.test.mode.enable=false",
        f"-Dtls.server.keyPath={folder / 'key.pem'}",
        f"-Dtls.server.certPath={folder / 'cert.pem'}",
    )


def test_a_name_server_that_enforces_tls_closes_a_plain_connection(enforcing: NameServer):
    assert ask(enforcing.address, 106, tls=True).code == 0
    with pytest.raises(ConnectionError):
        ask(enforcing.address, 106)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_and_its_clients_find_each_other_over_tls_alone(
    version: str, enforcing: NameServer, certificate: tuple[str, ...]
):
    with JavaBroker(
        version, [enforcing.address], f"tls-{version}", f"tls-{version}", tls=True, jvm=certificate
    ) as broker:
        client = JavaClient(version, enforcing.address, jvm=TLS)
        events = client.exchange(f"tls-{version}".replace(".", "-"), "group-tls", 4)
        assert sorted(numbers(events, "received")) == [0, 1, 2, 3]
        (listed,) = client.admin("clusterList")
        assert broker.address in listed
        eventually(
            lambda: assert_routes_match(enforcing.address, broker) is None, within=30, what="equal topics"
        )
