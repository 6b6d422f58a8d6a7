"""Access rules before real peers: what stock releases sign is right, and who is refused learns why."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from namekeeper.access.signature import sign
from tests.interop.clients import JavaClient, numbers
from tests.interop.servers import Namekeeper
from tests.interop.signatures_seen import UNSIGNED, WRONG, SignaturesSeen
from tests.support.java.servers import FIVE, VERSIONS, JavaBroker, mqadmin
from tests.support.system.processes import ProcessError, eventually
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

REFUSED = "is refused: no rule covers it"
NOT_PROVED = "user {!r} is not proved: AccessKey or Signature is not known here"

CREDENTIALS = "innerClientAuthenticationCredentials"
ACTING = {"enableSlaveActingMaster": "true"}
PROVED = {"broker": ("broker-key",), "client": ("next-key", "client-key"), "operator": ("operator-key",)}
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


def documented(peer: str, given: str) -> set[int]:
    """The codes that the reference says a peer with some credentials signs, in its table of what stock peers do."""
    page = Path(__file__).parents[2] / "docs" / "reference" / "access.md"
    (row,) = (line for line in page.read_text().splitlines() if line.startswith(f"| {peer} | `{given}` |"))
    return set(map(int, re.findall(r"\b[0-9]{3}\b", row.split("|")[3])))


@contextlib.contextmanager
def listening(server: Namekeeper) -> Iterator[SignaturesSeen]:
    """What goes to the name server, and who signed it."""
    with SignaturesSeen(server.address, PROVED) as seen:
        yield seen


def logged(broker: JavaBroker) -> str:
    """Everything that a broker has logged."""
    return "".join(log.read_text(errors="replace") for log in broker.home.rglob("*.log"))


def signing(user: str, key: str) -> tuple[str, ...]:
    return (f"-Dpeer.accessKey={user}", f"-Dpeer.secretKey={key}")


def credentials(user: str, key: str) -> dict[str, object]:
    """What a 5.x broker signs its requests to name servers with."""
    return {
        CREDENTIALS: json.dumps({"accessKey": user, "secretKey": key}),
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
    properties = {**credentials("broker", "broker-key"), **ACTING}
    with listening(strict) as seen, listening(strict) as seen_of_client:
        with JavaBroker(version, [seen.address], name, name, properties=properties) as broker:
            client = JavaClient(version, seen_of_client.address, jvm=signing("client", "client-key"))
            events = client.exchange(name.replace(".", "-"), "group-signed", 4)
            assert sorted(numbers(events, "received")) == [0, 1, 2, 3]
            broker.stop()
        assert_all_signed(seen, "broker", documented("broker 5.3.3, 5.5.0", CREDENTIALS))
        assert_all_signed(
            seen_of_client, "client", documented("producer, consumer, all four", "AclClientRPCHook")
        )


def test_a_broker_that_knows_of_new_name_servers_only_signs_its_heartbeats(strict: Namekeeper):
    properties = {**credentials("broker", "broker-key"), **ACTING, "compatibleWithOldNameSrv": "false"}
    wanted = documented("broker 5.5.0, `compatibleWithOldNameSrv=false`", CREDENTIALS)
    with listening(strict) as seen:
        with JavaBroker("5.5.0", [seen.address], "signed-new", "signed-new", properties=properties) as broker:
            eventually(
                lambda: wanted - {104} <= seen.codes_of("broker"), within=60, what=f"{wanted} from the broker"
            )
            broker.stop()
        assert_all_signed(seen, "broker", wanted)


def assert_all_signed(seen: SignaturesSeen, user: str, codes: set[int]) -> None:
    """A user has signed every request, and these codes among them; 106 is what the test itself asks."""
    assert {
        code: signers - {UNSIGNED} if code == 106 else signers for code, signers in seen.signers().items()
    } == {code: {user} for code in seen.signers()}
    assert seen.codes_of(user) >= codes > set()


@pytest.mark.parametrize("version", ["4.8.0", "4.9.7"])
def test_a_broker_of_4x_is_known_by_its_network_and_its_name(version: str, strict: Namekeeper):
    name = f"old-{version}"
    with listening(strict) as seen, listening(strict) as seen_of_client:
        with JavaBroker(version, [seen.address], name, name):
            client = JavaClient(version, seen_of_client.address, jvm=signing("client", "next-key"))
            assert client.queues("TBW102")[0]
            unsigned = JavaClient(version, strict.address)
            assert unsigned.queues("TBW102") == ([], [])
        assert_all_signed(
            seen_of_client, "client", documented("producer, consumer, all four", "AclClientRPCHook")
        )
        assert 103 in seen.codes_of(UNSIGNED)
        assert {who for signers in seen.signers().values() for who in signers} == {UNSIGNED}


@pytest.mark.parametrize(
    ("version", "key", "says"),
    [
        *((version, None, REFUSED) for version in FIVE),
        ("5.5.0", "a wrong key", NOT_PROVED.format("broker")),
    ],
)
def test_a_broker_that_does_not_sign_or_wrongly_leaves_nothing_and_its_log_says_why(
    version: str, key: str | None, says: str, strict: Namekeeper
):
    properties = {} if key is None else credentials("broker", key)
    broker = JavaBroker(version, [strict.address], "refused", "refused", properties=properties)
    with contextlib.ExitStack() as opened:
        broker.start(opened)
        eventually(lambda: says in logged(broker), within=60, what="the reason in the broker's log")
        assert "refused" not in ask(strict.address, 106).json()["brokerAddrTable"]


@pytest.mark.parametrize(
    ("key", "says"),
    [(None, REFUSED), ("a wrong key", NOT_PROVED.format("client"))],
    ids=["not signed", "signed wrongly"],
)
@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_a_client_that_does_not_sign_or_wrongly_finds_the_reason_in_its_log(
    version: str, key: str | None, says: str, strict: Namekeeper, tmp_path: Path
):
    """What it throws is that there is no route, as without rules."""
    client = JavaClient(version, strict.address, jvm=signing("client", key) if key else ())
    with pytest.raises(ProcessError, match="No route info of this topic"):
        client.produce("TopicTest", 1)
    with client.steady("TopicTest", "group", "TopicTest", tmp_path / "client.txt") as goes_on:
        goes_on.logs(says)  # one that ends at once may not have written its log


@pytest.mark.parametrize("version", VERSIONS)
def test_mqadmin_signs_with_the_tools_own_file_and_shows_why_it_is_refused(version: str, strict: Namekeeper):
    entry = {"namespace": f"ns-{version}", "key": "k"}
    command = f"updateKvConfig -s ns-{version} -k k -v"
    others = [
        "clusterList",
        "topicList",
        "topicRoute -t T",
        "deleteKvConfig -s other -k k",
        "wipeWritePerm -b none",
    ]
    with listening(strict) as seen:
        operator(version, seen.address).admin(
            f"{command} right", *others, f"getNamesrvConfig -n {seen.address}"
        )
        assert_all_signed(seen, "operator", documented("`mqadmin`, all four", "conf/tools.yml"))
        guessed = operator(version, seen.address, key="guess").admin_failure(f"{command} guessed")
        assert NOT_PROVED.format("operator") in guessed
        assert 100 in seen.codes_of(WRONG)
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


@pytest.mark.parametrize("version", ["4.9.7", "5.5.0"])
def test_a_broker_and_a_client_with_certificates_need_no_signature(
    version: str, strict: Namekeeper, certificates: Certificates
):
    name = f"tls-{version.replace('.', '-')}"
    cert, key = certificates.issue("operator")
    tls = (
        "-Dtls.test.mode.enable=false", f"-Dtls.client.certPath={cert}", f"-Dtls.client.keyPath={key}",
        f"-Dtls.client.trustCertPath={certificates.trust}", f"-Dtls.server.certPath={cert}",
        f"-Dtls.server.keyPath={key}",
    )  # fmt: skip
    with JavaBroker(version, [strict.address], name, name, tls=True, jvm=tls):
        client = JavaClient(version, strict.address, jvm=("-Dtls.enable=true", *tls))
        events = client.exchange(name, f"group-{name}", 2)
        assert sorted(numbers(events, "received")) == [0, 1]
