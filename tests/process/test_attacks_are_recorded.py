"""The known attacks under the strict example of the how-to, over sockets: each is refused and recorded."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec import structs

from namekeeper.access.signature import sign
from namekeeper.cli.group import namekeeper
from namekeeper.wire.codec import encode_command
from tests.process.running import PATIENCE_SECONDS, NameServerProcess, holding
from tests.support.system.processes import eventually
from tests.support.system.waiting import PATIENCE
from tests.support.wire.ask import ask
from tests.unit.app.parts import registration

EXAMPLE = Path(__file__).parents[2] / "docs" / "howto" / "access.toml"
KEYS = '[users]\nops = "key-of-ops"\nbroker-prod = "key-of-broker"\n'
PROD, STRANGER = "127.0.1.1", "127.9.9.9"
BROKER = {"clusterName": "prod", "brokerName": "prod-a", "brokerAddr": f"{PROD}:10911", "brokerId": "0"}
OF_THE_ROUTE = {
    103: ("REGISTER_BROKER", "brokers=prod-a"),
    104: ("UNREGISTER_BROKER", "brokers=prod-a"),
    205: ("WIPE_WRITE_PERM_OF_BROKER", "brokers=prod-a"),
    327: ("ADD_WRITE_PERM_OF_BROKER", "brokers=prod-a"),
    216: ("DELETE_TOPIC_IN_NAMESRV", "topics=T1"),
}
"""What may take a route away: `why` tells it, with what it was about."""
OTHERS = {
    100: ("PUT_KV_CONFIG", "namespaces=ORDER_TOPIC_CONFIG"),
    102: ("DELETE_KV_CONFIG", "namespaces=ORDER_TOPIC_CONFIG"),
    318: ("UPDATE_NAMESRV_CONFIG", ""),
}
ORDER = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "evil:1"}
FORGED = registration(cluster_name="prod", name="prod-a", addr=f"{STRANGER}:10911")
ATTACKS: dict[int, tuple[dict[str, str], bytes]] = {
    103: (FORGED.ext_fields or {}, FORGED.body),
    104: (BROKER, b""),
    205: ({"brokerName": "prod-a"}, b""),
    327: ({"brokerName": "prod-a"}, b""),
    216: ({"topic": "T1"}, b""),
    100: (ORDER, b""),
    102: (ORDER, b""),
    318: ({}, b"logLevel=ERROR"),
}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, int]]:
    """The journal of a server whose only broker left, before a stranger tried everything; and the answers."""
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "access.toml").write_text(EXAMPLE.read_text().replace("10.0.", "127.0."))
    (folder / "access-keys.toml").write_text(KEYS)
    (folder / "access-keys.toml").chmod(0o600)
    comes = registration(cluster_name="prod", name="prod-a", addr=f"{PROD}:10911")
    fields = sign(comes.ext_fields, comes.body, access_key="broker-prod", secret_key="key-of-broker")
    with NameServerProcess(folder, access_file=str(folder / "access.toml")) as server:
        server.started()
        with holding(
            server.address, encode_command(structs.replace(comes, ext_fields=fields)), source=PROD
        ) as it:
            assert it.recv(1)
        eventually(
            lambda: ask(server.address, 105, source=PROD, topic="T1").code == 17,
            within=10,
            what="it has left",
        )
        codes = {
            code: ask(server.address, code, body, source=STRANGER, timeout=PATIENCE_SECONDS, **fields).code
            for code, (fields, body) in ATTACKS.items()
        }
        server.stop()
    (found,) = (folder / "journal").glob("[0-9]*")
    return found, codes


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of a server without rules, but with protectBrokerNames, where a stranger wanted a broker's place."""
    folder = tmp_path_factory.mktemp("protected")
    comes = encode_command(registration(cluster_name="prod", name="prod-a", addr=f"{PROD}:10911"))
    with NameServerProcess(folder, protect_broker_names="true") as server:
        with holding(server.started().address, comes, source=PROD) as it:
            assert it.recv(1)
            claims = [{}, {"brokerName": "another", "brokerAddr": BROKER["brokerAddr"]}]
            asked = [(103, {**(FORGED.ext_fields or {}), **claim}, FORGED.body) for claim in claims]
            answers = [
                ask(server.address, code, body, source=STRANGER, timeout=PATIENCE_SECONDS, **fields).code
                for code, fields, body in [*asked, (104, BROKER, b"")]
            ]
            assert answers == [16] * 3
        eventually(
            lambda: ask(server.address, 105, topic="T1").code == 17, within=10, what="the broker has left"
        )
        server.stop()
    (found,) = (folder / "journal").glob("[0-9]*")
    return found


def lines_of(*words: str) -> list[str]:
    done = CliRunner().invoke(namekeeper, list(words))
    assert done.exit_code in {0, 1}, (words, done.output, done.exception)
    return done.stdout.splitlines()


@pytest.mark.timeout(120 * PATIENCE)
def test_each_attack_is_refused(attacked: tuple[Path, dict[int, int]]):
    assert attacked[1] == dict.fromkeys(ATTACKS, 16)


@pytest.mark.timeout(120 * PATIENCE)
@pytest.mark.parametrize("code", OF_THE_ROUTE)
def test_why_tells_of_an_attack_on_the_route_of_a_topic(attacked: tuple[Path, dict[int, int]], code: int):
    name, about = OF_THE_ROUTE[code]
    told = [
        line for line in lines_of("why", "T1", "--journal", str(attacked[0])) if f"{name} ({code})" in line
    ]
    assert [about in line and STRANGER in line and "was refused" in line for line in told] == [True], told


@pytest.mark.timeout(120 * PATIENCE)
@pytest.mark.parametrize("code", ATTACKS)
def test_audit_tells_of_each_attack(attacked: tuple[Path, dict[int, int]], code: int):
    name, about = {**OF_THE_ROUTE, **OTHERS}[code]
    lines = lines_of("audit", "--since", "1 hour ago", "--journal", str(attacked[0]))
    told = [line for line in lines if f"refused {name} ({code})" in line]
    assert [about in line and STRANGER in line for line in told] == [True], (told, lines)


@pytest.mark.timeout(120 * PATIENCE)
@pytest.mark.parametrize("words", [("why", "T1"), ("audit", "--since", "1 hour ago")], ids=["why", "audit"])
def test_who_wanted_the_place_of_a_live_broker_is_told(protected: Path, words: tuple[str, ...]):
    """By its name and id, by its address, and its end."""
    told = [line for line in lines_of(*words, "--journal", str(protected)) if "protectBrokerNames" in line]
    wanted = [
        "REGISTER_BROKER (103) clusters=prod brokers=prod-a from",
        "REGISTER_BROKER (103) clusters=prod brokers=another brokers=prod-a from",
        "UNREGISTER_BROKER (104) clusters=prod brokers=prod-a from",
    ]
    found = [sum(each in line and STRANGER in line for line in told) for each in wanted]
    assert (found, len(told)) == ([1] * 3, 3), told
