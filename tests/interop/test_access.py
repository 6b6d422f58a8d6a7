"""Access rules before real peers: what stock releases sign is right, and who is refused learns why."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from namekeeper.access.signature import sign
from tests.interop.clients import JavaClient, numbers
from tests.interop.servers import Namekeeper
from tests.support.java.servers import FIVE, VERSIONS, JavaBroker, mqadmin
from tests.support.system.processes import eventually
from tests.support.wire.ask import ask
from tests.support.wire.certificates import Certificates

pytestmark = [pytest.mark.interop, pytest.mark.slow]

RULES = """
mode = "enforce"
keys = "keys.toml"

[[rule]]
name = "the tests look at clusters"
requests = [106]

[[rule]]
name = "brokers that sign"
requests = ["broker", "read"]
users = ["broker"]

[[rule]]
name = "brokers of 4.x, which can't"
requests = ["broker"]
networks = ["127.0.0.1"]
brokers = ["old-*"]

[[rule]]
name = "clients"
requests = ["read"]
users = ["client"]

[[rule]]
name = "operators"
requests = ["any"]
users = ["operator"]

[[rule]]
name = "operators by certificate"
requests = ["any"]
certificates = ["DNS:operator.test"]
"""

REFUSED = "is refused by no rule: none covers it"

KEYS = '[users]\nbroker = "broker-key"\nclient = ["next-key", "client-key"]\noperator = "operator-key"\n'


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates that Java 17 and all releases can use."""
    made = Certificates(tmp_path_factory.mktemp("certificates"))
    made.authority = trustme.CA(key_type=trustme.KeyType.RSA)
    made.authority.cert_pem.write_to_path(made.trust)
    return made


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory, certificates: Certificates) -> Iterator[Namekeeper]:
    """A name server with the rules above."""
    folder: Path = tmp_path_factory.mktemp("access")
    (folder / "access.toml").write_text(RULES)
    (folder / "keys.toml").write_text(KEYS)
    (folder / "keys.toml").chmod(0o600)
    cert, key = certificates.issue("server")
    tls = {
        "tls.test.mode.enable": "false",
        "tls.server.certPath": cert,
        "tls.server.keyPath": key,
        "tls.server.trustCertPath": certificates.trust,
        "tls.server.authClient": "true",
        "tls.server.need.client.auth": "optional",
    }
    with Namekeeper({"accessFile": folder / "access.toml", **tls}) as server:
        yield server


def logged(broker: JavaBroker) -> str:
    """Everything that a broker has logged."""
    return "".join(log.read_text(errors="replace") for log in broker.home.rglob("*.log"))


def signing(user: str, key: str) -> tuple[str, ...]:
    return (f"-Dpeer.accessKey={user}", f"-Dpeer.secretKey={key}")


def credentials(user: str, key: str) -> dict[str, object]:
    """What a 5.x broker signs its requests to name servers with."""
    return {
        "innerClientAuthenticationCredentials": json.dumps({"accessKey": user, "secretKey": key}),
        "authenticationMetadataProvider": (
            "org.apache.rocketmq.auth.authentication.provider.LocalAuthenticationMetadataProvider"
        ),
    }


def operator(version: str, namesrv: str, key: str = "operator-key") -> JavaClient:
    """The mqadmin of a release with credentials."""
    return JavaClient(version, namesrv, tools_yml=f"accessKey: operator\nsecretKey: {key}\n")


@pytest.mark.parametrize("version", FIVE)
def test_a_signed_broker_and_a_signed_client_work_as_without_rules(version: str, strict: Namekeeper):
    name = f"signed-{version}"
    properties = {**credentials("broker", "broker-key"), "enableSlaveActingMaster": "true"}
    with JavaBroker(version, [strict.address], name, name, properties=properties):
        client = JavaClient(version, strict.address, jvm=signing("client", "client-key"))
        events = client.exchange(name.replace(".", "-"), "group-signed", 4)
        assert sorted(numbers(events, "received")) == [0, 1, 2, 3]


@pytest.mark.parametrize("version", ["4.8.0", "4.9.7"])
def test_a_broker_of_4x_is_known_by_its_network_and_its_name(version: str, strict: Namekeeper):
    name = f"old-{version}"
    with JavaBroker(version, [strict.address], name, name):
        client = JavaClient(version, strict.address, jvm=signing("client", "next-key"))
        assert client.queues("TBW102")[0]
        unsigned = JavaClient(version, strict.address)
        assert unsigned.queues("TBW102") == ([], [])


@pytest.mark.parametrize("version", FIVE)
def test_a_broker_that_does_not_sign_leaves_nothing_and_its_log_says_why(version: str, strict: Namekeeper):
    broker = JavaBroker(version, [strict.address], "unsigned", "unsigned")
    with contextlib.ExitStack() as opened:
        broker.start(opened)
        eventually(lambda: REFUSED in logged(broker), within=60, what="the reason in the broker's log")
        assert "unsigned" not in ask(strict.address, 106).json()["brokerAddrTable"]


@pytest.mark.parametrize("version", VERSIONS)
def test_mqadmin_signs_with_the_tools_own_file_and_shows_why_it_is_refused(version: str, strict: Namekeeper):
    entry = {"namespace": f"ns-{version}", "key": "k"}
    command = f"updateKvConfig -s ns-{version} -k k -v"
    operator(version, strict.address).admin(f"{command} right")
    operator(version, strict.address, key="guess").admin(f"{command} guessed")
    unsigned = mqadmin(version, *f"{command} unsigned -n {strict.address}".split())
    assert REFUSED in unsigned.stdout + unsigned.stderr
    asked = sign(entry, b"", access_key="client", secret_key="client-key")
    assert ask(strict.address, 101, **asked).fields["value"] == "right"


def test_an_operator_with_a_certificate_needs_no_signature(strict: Namekeeper, certificates: Certificates):
    cert, key = certificates.issue("operator")
    other_cert, other_key = certificates.issue("other")
    for mine, its_key, expected in ((cert, key, True), (other_cert, other_key, False)):
        tls = (
            "-Dtls.enable=true", "-Dtls.test.mode.enable=false", f"-Dtls.client.certPath={mine}",
            f"-Dtls.client.keyPath={its_key}", f"-Dtls.client.trustCertPath={certificates.trust}",
        )  # fmt: skip
        (said,) = JavaClient("5.5.0", strict.address, jvm=tls).admin("getNamesrvConfig")
        assert ("accessFile" in said) == expected, said
