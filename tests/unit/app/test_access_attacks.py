"""The known attacks on name servers, under the strict example of the how-to: refused, without effect, and noted."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from namekeeper.access.judged import is_refusal_by_rules
from namekeeper.access.peer import peer_at
from namekeeper.access.policy import AccessPolicy, check_users
from namekeeper.access.rules import AccessMode
from namekeeper.access.rules_file import parse_access_file
from namekeeper.access.signature import sign
from namekeeper.app.access import AccessControl
from namekeeper.wire.codec import encode_command
from tests.unit.app.parts import Parts, frame, registration
from tests.unit.remoting.joined import Joined

EXAMPLE = Path(__file__).parents[3] / "docs" / "howto" / "access.toml"
POLICY = AccessPolicy(
    parse_access_file(EXAMPLE.read_text(), source="access.toml").rules,
    {"ops": ("ops-key",), "broker-prod": ("broker-key",)},
)
OPERATOR, PROD, OLD, CLIENT, STRANGER = "10.0.9.1", "10.0.1.1", "10.0.2.1", "10.0.7.1", "192.0.2.1"
BROKER = {"clusterName": "prod", "brokerName": "prod-a", "brokerAddr": "10.0.1.1:10911", "brokerId": "0"}


class World:
    """A production cluster of one broker, which registered by the rules."""

    def __init__(self, folder):
        self.parts = Parts(folder, allow_config_update="true")
        self.denied = []
        self.parts.effects.journaling.refused = lambda request, peer, error: self.denied.append(
            (request.code, peer, error.remark)
        )
        self.control = AccessControl(
            SimpleNamespace(policy=POLICY, trouble=""), self.parts.requests, self.parts.state,
            journaling=self.parts.effects.journaling, lookup_cache=self.parts.state.lookup_cache,
        )  # fmt: skip
        self.parts.requests._journaling = self.parts.effects.journaling
        request = registration(cluster_name="prod", name="prod-a", addr="10.0.1.1:10911")
        request.ext_fields = sign(
            request.ext_fields, request.body, access_key="broker-prod", secret_key="broker-key"
        )
        assert self.codes(PROD, encode_command(request)) == [0]

    def codes(self, host: str, *frames: bytes) -> list[int]:
        """The answers to requests over one connection."""
        joined = Joined(self.control)
        joined.channel.remote_addr = f"{host}:5000"
        for data in frames:
            joined.deliver(data)
            self.parts.run_turns()
        return [answer.code for answer in joined.answers]

    def shown(self):
        state = self.parts.state
        tables = state.tables
        return (
            dict(tables.topic_queue_table), dict(tables.broker_addr_table), dict(tables.cluster_addr_table),
            list(tables.broker_live_table), list(state.kv_config.entries()), dict(state.config.values()),
        )  # fmt: skip


@pytest.fixture
async def world(tmp_path):
    return World(tmp_path)


def signed(code: int, body: bytes = b"", *, user: str = "ops", key: str = "ops-key", **fields: str) -> bytes:
    return frame(code, body, **sign(fields, body, access_key=user, secret_key=key))


def forged(**fields) -> bytes:
    return encode_command(registration(**fields))


ORDER = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T1", "value": "evil:1"}
ATTACKS = {
    "a registration in the place of a broker": forged(cluster_name="prod", name="prod-a", addr="192.0.2.1:10911"),
    "a registration under a new name": forged(cluster_name="evil", name="evil", addr="192.0.2.1:10911"),
    "a registration that takes the address": forged(cluster_name="prod", name="x", addr="10.0.1.1:10911"),
    "an unregistration of a broker": frame(104, **BROKER),
    "a heartbeat in the name of a broker": frame(904, **BROKER),
    "a question in the name of a broker": frame(322, **BROKER),
    "queues by hand": frame(
        217, b'{"queueDatas":[{"brokerName":"prod-a","readQueueNums":1,"writeQueueNums":1,"perm":6}]}', topic="T1"
    ),
    "the order of topics": frame(100, **ORDER),
    "the order of topics deleted": frame(102, namespace="ORDER_TOPIC_CONFIG", key="T1"),
    "write permissions taken": frame(205, brokerName="prod-a"),
    "write permissions given": frame(327, brokerName="prod-a"),
    "a topic deleted": frame(216, topic="T1"),
    "a property changed": frame(318, b"logLevel=ERROR"),
    "the path of a file changed": frame(318, b"kvConfigPath=/etc/cron.d/x\nconfigStorePath=/etc/cron.d/x"),
    "a property changed, signed by an operator": signed(318, b"logLevel=ERROR"),
    "a topic deleted with a guessed key": signed(216, topic="T1", key="guess"),
    "a topic deleted by a user without that right": signed(216, topic="T1", user="broker-prod", key="broker-key"),
}  # fmt: skip


@pytest.mark.parametrize("host", [STRANGER, CLIENT, OLD, PROD])
@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_attack_is_refused_changes_nothing_and_is_noted(world, attack, host):
    before = world.shown()
    assert world.codes(host, ATTACKS[attack]) == [16]
    assert world.shown() == before
    ((_, peer, reason),) = world.denied
    assert (peer, is_refusal_by_rules(reason)) == (f"{host}:5000", True)
    assert sum(world.control.refusals().values()) == 1


async def test_every_topic_is_deleted_by_nobody(world):
    before = world.shown()
    assert set(world.codes(CLIENT, *(frame(216, topic=f"T{n}") for n in range(1, 200)))) == {16}
    assert world.shown() == before


async def test_what_an_operator_signed_is_of_no_use_elsewhere(world):
    """The signature can be replayed and does not cover the code; the network is what stops it."""
    look_up = signed(105, topic="T1")
    assert world.codes(OPERATOR, look_up, look_up, look_up) == [0, 0, 0]
    assert world.codes(STRANGER, look_up, look_up, look_up) == [16, 16, 16]
    deletion = frame(216, **sign({"topic": "T1"}, b"", access_key="ops", secret_key="ops-key"))
    assert world.codes(CLIENT, deletion) == [16]
    assert world.codes(OPERATOR, deletion) == [0]


async def test_the_cluster_works_for_who_should(world):
    assert world.codes(CLIENT, frame(105, topic="T1"), frame(105, topic="T1")) == [0, 0]
    assert world.codes(PROD, frame(106)) == [0]
    heartbeat = signed(322, b"", user="broker-prod", key="broker-key", **BROKER)
    assert world.codes(PROD, heartbeat) == [0]
    assert world.codes(OLD, forged(cluster_name="old", name="old-a", addr="10.0.2.1:10911")) == [0]
    assert world.codes(OPERATOR, signed(205, brokerName="prod-a"), signed(319)) == [0, 0]


async def test_the_pages_are_for_people_and_for_this_machine(world):
    assert [
        world.control.refuse_page(peer_at(f"{host}:0"), None) for host in (OPERATOR, "127.0.0.1", "[::1]")
    ] == [None] * 3
    for host in (STRANGER, CLIENT, OLD, PROD):
        assert "for the HTTP pages is refused" in world.control.refuse_page(
            peer_at(f"{host}:0"), "broker-key"
        )


def test_the_example_is_whole():
    check_users(POLICY, source="access.toml")
    assert POLICY.rules.mode is AccessMode.ENFORCE
